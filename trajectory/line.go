package trajectory

import (
	"cmp"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
)

// A line is what WriteTrajectory writes.
type line struct {
	Session lineSession  `json:"session"`
	View    View         `json:"view"`
	Agent   string       `json:"agent,omitzero"`   // the only one, "" for all
	Summary *lineSummary `json:"summary,omitzero"` // stands for what a live view leaves out
	Calls   lineCalls    `json:"tool_calls"`
	// Deltas has the changes of state, an object each; events that change nothing have none. Additions
	// (session.Actions.StateIncrement) are not among them.
	Deltas []raw   `json:"state_deltas"`
	Usage  *Usage  `json:"token_usage"` // of all events, nil if none has counts
	Output string  `json:"final_output"`
	Reason *string `json:"reasoning"`
	Error  *string `json:"error"`
}

type lineSession struct {
	App  string `json:"app_name"`
	User string `json:"user_id"`
	ID   string `json:"id"`
}

type lineSummary struct {
	Through int64  `json:"through"`
	Text    string `json:"text"`
}

// A lineCall is a function call and what became of it.
type lineCall struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Arguments raw       `json:"arguments"`
	Result    raw       `json:"result"` // the response's object, null if there is none
	Status    Status    `json:"status"`
	Agent     string    `json:"agent"`
	Seq       int64     `json:"seq"` // of the event with the call
	Timestamp time.Time `json:"timestamp,omitzero"`
	ResultSeq int64     `json:"result_seq,omitzero"`
	Rewound   bool      `json:"rewound,omitzero"`
}

// lineCalls are the calls of an Extract. They are never in memory at once with their values.
type lineCalls struct{ of *Extract }

// MarshalJSONTo implements json.MarshalerTo.
func (l lineCalls) MarshalJSONTo(to *encoder) error {
	if err := to.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, c := range l.of.calls {
		if err := json.MarshalEncode(to, l.of.lineCall(c)); err != nil {
			return err
		}
	}
	return to.WriteToken(jsontext.EndArray)
}

func (x *Extract) lineCall(c session.Call) lineCall {
	l := lineCall{
		ID:        c.ID,
		Name:      cmp.Or(c.Name, "unknown"),
		Arguments: x.arguments(c),
		Result:    x.response(c),
		Status:    x.status(c),
		Agent:     c.Event.Author,
		Seq:       c.Event.Seq,
		Timestamp: c.Event.Timestamp,
		Rewound:   x.of[c.Event].void,
	}
	if c.Response != nil {
		l.ResultSeq = c.Response.Seq
	}
	return l
}

// WriteTrajectory writes what the agents of an Extract did as one line of JSON: the function calls in the order
// in which they were made, with their responses and statuses; the changes of state; the tokens; what FinalOutput
// and Reasoning return; and the code and message of the last failure after which no agent spoke. The denial of
// one call is no such failure.
func WriteTrajectory(w io.Writer, x *Extract) error {
	l := line{
		Session: lineSession{App: x.session.App, User: x.session.User, ID: x.session.ID},
		View:    x.config.View,
		Agent:   x.agent,
		Calls:   lineCalls{of: x},
		Deltas:  []raw{},
	}
	if x.summary != nil {
		l.Summary = &lineSummary{
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
		if en.delta != nil {
			l.Deltas = append(l.Deltas, en.delta)
		}
		if en.usage != nil {
			if l.Usage == nil {
				l.Usage = &Usage{}
			}
			l.Usage.add(*en.usage)
		}
	}
	l.Output = FinalOutput(events)
	if thoughts := Reasoning(events); thoughts != "" {
		l.Reason = &thoughts
	}
	l.Error = failureOf(events)
	d := newDocument(w)
	d.value(l)
	return d.end()
}
