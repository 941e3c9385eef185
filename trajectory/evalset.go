package trajectory

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/session"
)

// An EvalSet writes sessions as an eval set of the Agent Development Kit, a case each. The kit looks for a
// set in the file ID.evalset.json.
type EvalSet struct {
	document *document
	ids      uniqueIDs
	created  seconds
}

type evalInput struct {
	App   string         `json:"app_name"`
	User  string         `json:"user_id"`
	State map[string]any `json:"state,omitempty"`
}

type evalInvocation struct {
	ID       string            `json:"invocation_id"`
	User     raw               `json:"user_content"`
	Response raw               `json:"final_response,omitzero"`
	Between  *evalIntermediate `json:"intermediate_data,omitzero"`
	Created  seconds           `json:"creation_timestamp"`
}

type evalIntermediate struct {
	Events []evalEvent `json:"invocation_events"`
}

type evalEvent struct {
	Author  string `json:"author"`
	Content raw    `json:"content"`
}

// seconds is a time in seconds since 1970.
type seconds float64

func secondsOf(t time.Time) seconds {
	if t.IsZero() {
		return 0
	}
	return seconds(float64(t.UnixMicro()) / 1e6)
}

var notInID = lazyregexp.New(`[^a-zA-Z0-9_]`)

// NewEvalSet begins an eval set on w. What the kit does not allow in an id becomes "_". Close ends the set.
func NewEvalSet(w io.Writer, id string) *EvalSet {
	s := &EvalSet{
		document: newDocument(w, jsontext.WithIndent(" ")),
		ids:      newIDs("_"),
	}
	s.document.tokens(jsontext.BeginObject)
	s.document.member("eval_set_id", notInID.ReplaceAllString(id, "_"))
	s.document.tokens(text("eval_cases"), jsontext.BeginArray)
	return s
}

// Close ends the set. It does not close the writer.
func (s *EvalSet) Close() error {
	s.document.tokens(jsontext.EndArray)
	s.document.member("creation_timestamp", s.created)
	s.document.tokens(jsontext.EndObject)
	return s.document.end()
}

// Add writes a session as a case. Each invocation has what the user said, the last answer, and between them
// every other event with content. A user's answer to a call that waited is an invocation of its own in a log,
// and belongs to the one that asked in the set. The state that the session was created with is the case's.
func (s *EvalSet) Add(x *Extract) (Omitted, error) {
	id := x.session.ID
	if x.agent != "" && x.config.Agent == "" {
		id += "_" + x.agent // one of several cases of the session
	}
	input := evalInput{App: x.session.App, User: x.session.User}
	if state, ok := cleaned(x.session.Initial, x.config.cleaner()).(map[string]any); ok {
		input.State = state
	}
	exchanges, omitted := x.exchanges()
	var created seconds
	if len(exchanges) > 0 {
		created = secondsOf(exchanges[0].user.Timestamp)
	}
	if s.created == 0 {
		s.created = created
	}

	d := s.document
	d.tokens(jsontext.BeginObject)
	d.member("eval_id", s.ids.of(notInID.ReplaceAllString(id, "_")))
	d.tokens(text("conversation"), jsontext.BeginArray)
	for _, ex := range exchanges {
		invocation, err := ex.invocation()
		if err != nil {
			return omitted, err
		}
		d.value(invocation)
	}
	d.tokens(jsontext.EndArray)
	d.member("session_input", input)
	d.member("creation_timestamp", created)
	d.tokens(jsontext.EndObject)
	return omitted, d.err
}

// An exchange is what the events of an invocation, and of the answers to its questions, say.
type exchange struct {
	id      string
	user    *entry
	answers []*entry // by agents and plugins, and the user's responses
}

// exchanges returns the exchanges in which the user said something. The kit does not allow an invocation without a
// message of the user.
func (x *Extract) exchanges() ([]*exchange, Omitted) {
	var omitted Omitted

	// The events go to the invocation they belong to; an answer to the one that asked.
	askedIn := map[*session.Event]*session.Event{} // by the event that answers, that with the call
	for _, c := range x.calls {
		if c.Response != nil && c.Response.Author == session.User {
			askedIn[c.Response] = c.Event
		}
		if c.Decision != nil {
			askedIn[c.Decision] = c.Event
		}
	}
	var order []*exchange
	of := map[string]*exchange{}
	for _, en := range x.entries {
		ex := of[en.InvocationID]
		if asked, ok := askedIn[en.Event]; ok && en.Text() == "" && of[asked.InvocationID] != nil {
			ex = of[asked.InvocationID]
			of[en.InvocationID] = ex
		}
		if ex == nil {
			ex = &exchange{id: en.InvocationID}
			of[en.InvocationID] = ex
			order = append(order, ex)
		}
		switch {
		case en.Author == session.User && en.Text() != "":
			ex.user = en
		case len(en.FunctionResponses()) > 0 || en.Author != session.User && en.Content != nil &&
			len(en.Content.Parts) > 0:
			ex.answers = append(ex.answers, en)
		case en.Author == session.User && en.Content != nil && ex.user == nil:
			ex.user = en // a file, say
		}
	}

	order = slices.DeleteFunc(order, func(ex *exchange) bool {
		if ex.user == nil {
			omitted.Events += len(ex.answers)
		}
		return ex.user == nil
	})
	return order, omitted
}

// invocation returns an exchange as the set has it.
func (ex *exchange) invocation() (evalInvocation, error) {
	var err error
	out := evalInvocation{ID: ex.id, Created: secondsOf(ex.user.Timestamp)}
	out.User, err = ex.user.evalContent()
	if err != nil {
		return out, err
	}
	last := -1
	for i, en := range ex.answers {
		if isFinal(en.Event) {
			last = i
		}
	}
	between := &evalIntermediate{}
	for i, en := range ex.answers {
		content, err := en.evalContent()
		if err != nil {
			return out, err
		}
		if i == last {
			out.Response = content
			continue
		}
		between.Events = append(between.Events, evalEvent{Author: en.Author, Content: content})
	}
	if len(between.Events) > 0 {
		out.Between = between
	}
	return out, nil
}

// evalContent returns an event's content with keys in snake_case, but for keys that are the user's.
func (en *entry) evalContent() (raw, error) {
	content := en.content
	if content == nil {
		wire, err := wireOf(&session.Event{Content: en.Content})
		if err != nil {
			return nil, err
		}
		content = wire.Content
	}
	return rewrite(content, snakeCase, func(to *encoder, from *decoder) error {
		v, err := from.ReadValue()
		if err != nil {
			return err
		}
		return to.WriteValue(v)
	})
}

// snakeCase returns a name of the kit's JSON, functionCall, as its Python has it, function_call.
func snakeCase(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
