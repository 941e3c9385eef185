// Package trajectory says what a session's agents did: the tool calls with their results and what became of
// them, the changes of state, the tokens, the reasoning and the final output. It is what evaluation, training and
// optimizers of prompts begin with.
//
//   - Read reduces a session's log, which it reads once, to an Extract: the events of one View, their values
//     redacted and cut.
//   - An Extract has a Trajectory, of all agents or of one. WriteTrajectory writes it as a line of JSON with the
//     names that gepa-adk uses, piece by piece.
//   - WriteChat, WriteATIF and an EvalSet write Extracts in the forms of other tools.
//   - FinalOutput, Reasoning, ByAgent, OutputFromState, Redact and Truncate are the pieces, for events in memory.
//
// A new form of export: a file with its Write function beside chat.go. A new field of events that exports need: keep it in
// Extract.reduce.
package trajectory

import (
	"cmp"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Trajectory is what the agents of a session, or one of them, did. Its JSON form is that of WriteTrajectory.
type Trajectory struct {
	Session SessionKey `json:"session"`
	View    View       `json:"view"`
	// Agent is the one whose trajectory it is, "" for all.
	Agent string `json:"agent,omitzero"`
	// Summary stands for what a live view leaves out.
	Summary *Summary `json:"summary,omitzero"`
	// ToolCalls has the calls in the order in which they were made.
	ToolCalls []ToolCall `json:"tool_calls"`
	// StateDeltas has the changes of state, an object each; events that change nothing have none. Additions
	// (session.Actions.StateIncrement) are not among them.
	StateDeltas []jsontext.Value `json:"state_deltas"`
	// TokenUsage is the sum over all events, nil if no event has counts.
	TokenUsage *Usage `json:"token_usage"`
	// Usages is TokenUsage by agent and model, in the order of their first event.
	Usages []AgentUsage `json:"-"`
	// FinalOutput is the text of the last answer: see the function FinalOutput.
	FinalOutput string `json:"final_output"`
	// Reasoning has the thoughts of the answers (see the function Reasoning), nil if there are none.
	Reasoning *string `json:"reasoning"`
	// Error is the code and message of the last failure after which no agent spoke, nil if there is none. The
	// denial of one call is no failure.
	Error *string `json:"error"`
}

// A SessionKey is a session.Key as it is written.
type SessionKey struct {
	App  string `json:"app_name"`
	User string `json:"user_id"`
	ID   string `json:"id"`
}

// A Summary stands for the events of a live view up to position Through.
type Summary struct {
	Through int64  `json:"through"`
	Text    string `json:"text"`
}

// A ToolCall is a function call and what became of it.
type ToolCall struct {
	ID string `json:"id"`
	// Name is "unknown" if the call has none.
	Name string `json:"name"`
	// Arguments is a JSON object.
	Arguments jsontext.Value `json:"arguments"`
	// Result is the JSON object of the latest response, null if there is none.
	Result jsontext.Value `json:"result"`
	Status Status         `json:"status"`
	// Agent is the author of the event with the call.
	Agent string `json:"agent"`
	// Seq and ResultSeq are the positions of the events with call and response. ResultSeq is 0 if there is no
	// response.
	Seq       int64     `json:"seq"`
	Timestamp time.Time `json:"timestamp,omitzero"` // of the event with the call
	ResultSeq int64     `json:"result_seq,omitzero"`
	// Rewound says that a rewind voids the call. Only the view Log has such calls.
	Rewound bool `json:"rewound,omitzero"`
}

// A Status says what became of a tool call.
type Status string

// What becomes of a tool call.
const (
	OK          Status = "ok"
	Failed      Status = "error"       // the response has an "error"
	Denied      Status = "denied"      // a policy refused the call
	Declined    Status = "declined"    // a human said no
	Interrupted Status = "interrupted" // the run ended before the tool had answered
	Waiting     Status = "waiting"     // a human, or what the call has started, answers later
	Open        Status = "open"        // there is no response, and nobody said that one comes
)

// A Usage is a number of tokens.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"` // without Reasoning
	Total  int64 `json:"total_tokens"`
	// Cached is the part of Input that came from the model's cache.
	Cached    int64 `json:"cached_tokens,omitzero"`
	Reasoning int64 `json:"reasoning_tokens,omitzero"`
}

func usageOf(m *genai.GenerateContentResponseUsageMetadata) *Usage {
	if m == nil {
		return nil
	}
	return &Usage{
		Input:     int64(m.PromptTokenCount),
		Output:    int64(m.CandidatesTokenCount),
		Total:     int64(m.TotalTokenCount),
		Cached:    int64(m.CachedContentTokenCount),
		Reasoning: int64(m.ThoughtsTokenCount),
	}
}

func (u *Usage) add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.Total += v.Total
	u.Cached += v.Cached
	u.Reasoning += v.Reasoning
}

// An AgentUsage is the Usage of one author of events (an agent, or a plugin as "plugin/" and its name) with one
// model.
type AgentUsage struct {
	Agent string
	Model string // "" if the events do not name it
	Usage
}

// Of returns the trajectory of a log in memory; see Read. Events that cannot be read as JSON are the only error,
// apart from a View that is unknown.
func Of(key session.Key, events []*session.Event, c Config) (*Trajectory, error) {
	x, err := Read(&session.Session{Key: key}, func(yield func(*session.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}, c)
	if err != nil {
		return nil, err
	}
	return x.Trajectory(), nil
}

// WriteTrajectory writes what Trajectory returns as one line of JSON.
func WriteTrajectory(w io.Writer, x *Extract) error {
	t := x.withoutCalls()
	d := newDocument(w)
	d.tokens(jsontext.BeginObject)
	d.member("session", t.Session)
	d.member("view", t.View)
	if t.Agent != "" {
		d.member("agent", t.Agent)
	}
	if t.Summary != nil {
		d.member("summary", t.Summary)
	}
	d.tokens(text("tool_calls"), jsontext.BeginArray)
	for c := range x.toolCalls() {
		d.value(c)
	}
	d.tokens(jsontext.EndArray)
	d.member("state_deltas", t.StateDeltas)
	d.member("token_usage", t.TokenUsage)
	d.member("final_output", t.FinalOutput)
	d.member("reasoning", t.Reasoning)
	d.member("error", t.Error)
	d.tokens(jsontext.EndObject)
	return d.end()
}

// Trajectory returns what the agents of the Extract did.
func (x *Extract) Trajectory() *Trajectory {
	t := x.withoutCalls()
	t.ToolCalls = slices.AppendSeq([]ToolCall{}, x.toolCalls())
	return t
}

// toolCalls yields the calls of the Trajectory.
func (x *Extract) toolCalls() iter.Seq[ToolCall] {
	return func(yield func(ToolCall) bool) {
		if x.config.NoToolCalls {
			return
		}
		for _, c := range x.calls {
			if !yield(x.toolCall(c)) {
				return
			}
		}
	}
}

// withoutCalls returns the Trajectory without its ToolCalls.
func (x *Extract) withoutCalls() *Trajectory {
	t := &Trajectory{
		Session:     SessionKey{App: x.session.App, User: x.session.User, ID: x.session.ID},
		View:        x.config.View,
		Agent:       x.agent,
		StateDeltas: []jsontext.Value{},
	}
	if x.summary != nil {
		t.Summary = &Summary{
			Through: x.summary.Actions.Compaction.Through,
			Text:    x.summaryText(),
		}
	}

	// The rest is of the events: of one agent's where only that one is asked for.
	var events []*session.Event
	for _, en := range x.entries {
		if x.agent != "" && en.Author != x.agent {
			continue
		}
		events = append(events, en.Event)
		if en.delta != nil && !x.config.NoStateDeltas {
			t.StateDeltas = append(t.StateDeltas, en.delta)
		}
		if en.usage != nil && !x.config.NoTokenUsage {
			t.count(en)
		}
	}
	t.FinalOutput = FinalOutput(events)
	if thoughts := Reasoning(events); thoughts != "" {
		t.Reasoning = &thoughts
	}
	t.Error = failureOf(events)
	return t
}

// count adds an event's usage.
func (t *Trajectory) count(en *entry) {
	if t.TokenUsage == nil {
		t.TokenUsage = &Usage{}
	}
	t.TokenUsage.add(*en.usage)
	i := slices.IndexFunc(t.Usages, func(u AgentUsage) bool {
		return u.Agent == en.Author && u.Model == en.ModelVersion
	})
	if i < 0 {
		i = len(t.Usages)
		t.Usages = append(t.Usages, AgentUsage{Agent: en.Author, Model: en.ModelVersion})
	}
	t.Usages[i].Usage.add(*en.usage)
}

// summaryText returns the text of the live view's compaction.
func (x *Extract) summaryText() string {
	var texts []string
	for _, p := range (&session.Event{Content: x.summary.Actions.Compaction.Content}).Parts() {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (x *Extract) toolCall(c session.Call) ToolCall {
	result, seq := x.response(c)
	return ToolCall{
		ID:        c.ID,
		Name:      cmp.Or(c.Name, "unknown"),
		Arguments: x.arguments(c),
		Result:    result,
		ResultSeq: seq,
		Status:    x.status(c),
		Agent:     c.Event.Author,
		Seq:       c.Event.Seq,
		Timestamp: c.Event.Timestamp,
		Rewound:   x.of[c.Event].void,
	}
}

// StatusOf says what became of a call.
func StatusOf(c *session.Call) Status {
	return statusOf(c, func(r *genai.FunctionResponse) Status { return saidBy(r.Response) })
}

// status is StatusOf for a call of the Extract, whose response has been noted and let go.
func (x *Extract) status(c session.Call) Status {
	return statusOf(&c, func(r *genai.FunctionResponse) Status { return cmp.Or(x.answers[r], OK) })
}

func statusOf(c *session.Call, says func(*genai.FunctionResponse) Status) Status {
	switch {
	case c.Response == nil && c.Waits():
		return Waiting
	case c.Response == nil:
		return Open
	case c.Response.ErrorCode == session.Denied:
		return Denied
	}
	return says(c.Result)
}

// saidBy says what a response says of its call. A refusal and an interruption have an "error", too.
func saidBy(response map[string]any) Status {
	switch {
	case response["declined"] == true:
		return Declined
	case response["interrupted"] == true:
		return Interrupted
	case response["error"] != nil:
		return Failed
	}
	return OK
}
