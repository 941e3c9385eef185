package trajectory

import (
	"cmp"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
)

type atifAgent struct {
	Name    string         `json:"name"`
	Version string         `json:"version"`
	Extra   map[string]any `json:"extra,omitempty"`
}

type atifStep struct {
	ID          int              `json:"step_id"`
	Timestamp   time.Time        `json:"timestamp,omitzero"`
	Source      string           `json:"source"`
	Message     string           `json:"message"`
	Model       string           `json:"model_name,omitzero"`
	Reasoning   string           `json:"reasoning_content,omitzero"`
	ToolCalls   []atifCall       `json:"tool_calls,omitempty"`
	Observation *atifObservation `json:"observation,omitzero"`
	Metrics     *atifUsage       `json:"metrics,omitzero"`
	Extra       atifExtra        `json:"extra"`
}

type atifCall struct {
	ID        string `json:"tool_call_id"`
	Name      string `json:"function_name"`
	Arguments raw    `json:"arguments"`
}

type atifObservation struct {
	Results []atifResult `json:"results"`
}

type atifResult struct {
	CallID  string `json:"source_call_id"`
	Content string `json:"content"` // the response's JSON
	Extra   struct {
		Status Status `json:"status"`
		Seq    int64  `json:"seq"`
	} `json:"extra"`
}

type atifUsage struct {
	Prompt     int64            `json:"prompt_tokens"`
	Completion int64            `json:"completion_tokens"` // with those of reasoning
	Cached     int64            `json:"cached_tokens,omitzero"`
	Extra      map[string]int64 `json:"extra,omitempty"`
}

type atifMetrics struct {
	Prompt     int64 `json:"total_prompt_tokens"`
	Completion int64 `json:"total_completion_tokens"`
	Cached     int64 `json:"total_cached_tokens,omitzero"`
	Steps      int   `json:"total_steps"`
}

// atifExtra is what we know of a step and the format has no place for.
type atifExtra struct {
	Seq          int64             `json:"seq"`
	InvocationID string            `json:"invocation_id,omitzero"`
	Agent        string            `json:"agent,omitzero"` // or the plugin, as "plugin/" and its name
	Branch       string            `json:"branch,omitzero"`
	ErrorCode    string            `json:"error_code,omitzero"`
	Rewound      bool              `json:"rewound,omitzero"`
	Context      map[string]string `json:"context_management,omitempty"`
}

// WriteATIF writes a trajectory as one line in the Agent Trajectory Interchange Format, version 1.7, which
// Harbor reads and Phoenix imports. A step is a message, an agent's turn with the responses to its calls, or a
// failure; "extra" has its position in the log. The steps of all agents stand in one list, each with its agent.
func WriteATIF(w io.Writer, x *Extract) (Omitted, error) {
	agents := x.Agents()
	agent := atifAgent{Name: x.agent, Version: "unknown"}
	if x.agent == "" && len(agents) > 0 {
		agent.Name = agents[0]
	}
	if x.agent == "" && len(agents) > 1 {
		agent.Extra = map[string]any{"agents": agents}
	}
	agent.Name = cmp.Or(agent.Name, "unknown")
	d := newDocument(w)
	d.tokens(jsontext.BeginObject)
	d.member("schema_version", "ATIF-v1.7")
	d.member("session_id", x.session.ID)
	d.member("agent", agent)
	d.tokens(text("steps"), jsontext.BeginArray)
	steps := 0
	write := func(step atifStep) {
		steps++
		step.ID = steps
		d.value(step)
	}

	// A summary is what the steps go on from.
	if x.summary != nil {
		write(atifStep{
			Timestamp: x.summary.Timestamp,
			Source:    "system",
			Message:   x.summaryText(),
			Extra: atifExtra{
				Seq:          x.summary.Seq,
				InvocationID: x.summary.InvocationID,
				Context:      map[string]string{"type": "compaction", "boundary": "replace"},
			},
		})
	}

	var omitted Omitted
	index := x.index()
	total := Usage{}
	for _, en := range x.entries {
		index.countOmitted(en.Event, &omitted)
		if en.usage != nil && (x.agent == "" || en.Author == x.agent) {
			total.add(*en.usage)
		}
		step, ok := x.atifStep(en, index)
		if ok {
			write(step)
		}
	}
	d.tokens(jsontext.EndArray)
	d.member("final_metrics", atifMetrics{
		Prompt:     total.Input,
		Completion: total.Output + total.Reasoning,
		Cached:     total.Cached,
		Steps:      steps,
	})
	d.tokens(jsontext.EndObject)
	return omitted, d.end()
}

// atifStep returns the step that an event is, and false if it is none: only responses, say.
func (x *Extract) atifStep(en *entry, index callIndex) (atifStep, bool) {
	step := atifStep{
		Timestamp: en.Timestamp,
		Message:   en.Text(),
		Extra: atifExtra{
			Seq:          en.Seq,
			InvocationID: en.InvocationID,
			Branch:       en.Branch,
			Rewound:      en.void,
		},
	}
	if en.Author == session.User {
		step.Source = "user"
		return step, step.Message != ""
	}
	step.Extra.Agent = en.Author
	if _, emitted := en.Plugin(); emitted || failed(en.Event) && step.Message == "" {
		step.Source = "system"
		if failed(en.Event) && step.Message == "" {
			step.Message = *failureOf([]*session.Event{en.Event})
			step.Extra.ErrorCode = en.ErrorCode
		}
		return step, step.Message != ""
	}

	// It is an agent's turn.
	step.Source = "agent"
	step.Model = en.ModelVersion
	step.Reasoning = thoughtsOf(en.Event)
	ids := newIDs("-")
	var results []atifResult
	for _, c := range index.callsOf(en.Event) {
		id := ids.of(c.ID)
		step.ToolCalls = append(step.ToolCalls, atifCall{
			ID:        id,
			Name:      cmp.Or(c.Name, "unknown"),
			Arguments: x.arguments(c),
		})
		if response, seq := x.response(c); response != nil {
			result := atifResult{CallID: id, Content: string(response)}
			result.Extra.Status = x.status(c)
			result.Extra.Seq = seq
			results = append(results, result)
		}
	}
	if len(results) > 0 {
		step.Observation = &atifObservation{Results: results}
	}
	u := en.usage
	if u != nil {
		step.Metrics = &atifUsage{Prompt: u.Input, Completion: u.Output + u.Reasoning, Cached: u.Cached}
		if u.Reasoning > 0 {
			step.Metrics.Extra = map[string]int64{"reasoning_tokens": u.Reasoning}
		}
	}
	return step, step.Message != "" || step.Reasoning != "" || len(step.ToolCalls) > 0 ||
		step.Metrics != nil
}
