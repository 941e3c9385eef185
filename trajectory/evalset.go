package trajectory

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/escape"
	"github.com/plughook/plughook/session"
)

// An EvalSet writes sessions as an eval set of the Agent Development Kit, a case each. The kit looks for a
// set in the file ID.evalset.json.
type EvalSet struct {
	buffer  *bufio.Writer
	to      *encoder
	ids     uniqueIDs
	created seconds
}

type evalCase struct {
	ID           string           `json:"eval_id"`
	Conversation []evalInvocation `json:"conversation"`
	Input        evalInput        `json:"session_input"`
	Created      seconds          `json:"creation_timestamp"`
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

var notInID = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// NewEvalSet begins an eval set on w. What the kit does not allow in an id becomes "_". Close ends the set.
func NewEvalSet(w io.Writer, id string) (*EvalSet, error) {
	buffer := bufio.NewWriter(w)
	s := &EvalSet{
		buffer: buffer,
		to:     jsontext.NewEncoder(escape.Writer(buffer), lenient, jsontext.WithIndent(" ")),
		ids:    uniqueIDs{separator: "_", taken: map[string]bool{}, next: map[string]int{}},
	}
	return s, s.write(jsontext.BeginObject, text("eval_set_id"),
		text(notInID.ReplaceAllString(id, "_")), text("eval_cases"), jsontext.BeginArray)
}

func (s *EvalSet) write(tokens ...token) error {
	for _, t := range tokens {
		if err := s.to.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the set. It does not close the writer.
func (s *EvalSet) Close() error {
	if err := s.write(jsontext.EndArray, text("creation_timestamp")); err != nil {
		return err
	}
	if err := json.MarshalEncode(s.to, s.created); err != nil {
		return err
	}
	if err := s.write(jsontext.EndObject); err != nil {
		return err
	}
	return s.buffer.Flush()
}

// Add writes a session as a case. Each invocation has what the user said, the last answer, and between them
// every other event with content. A user's answer to a call that waited is an invocation of its own in a log,
// and belongs to the one that asked in the set. The state that the session was created with is the case's.
func (s *EvalSet) Add(x *Extract) (Omitted, error) {
	conversation, omitted, err := x.conversation()
	if err != nil {
		return omitted, err
	}
	id := x.session.ID
	if x.agent != "" && x.config.Agent == "" {
		id += "_" + x.agent // one of several cases of the session
	}
	c := evalCase{
		ID:           s.ids.of(notInID.ReplaceAllString(id, "_")),
		Conversation: conversation,
		Input:        evalInput{App: x.session.App, User: x.session.User},
	}
	if state, ok := cleaned(x.session.Initial, x.config.cleaner()).(map[string]any); ok {
		c.Input.State = state
	}
	if len(conversation) > 0 {
		c.Created = conversation[0].Created
	}
	if s.created == 0 {
		s.created = c.Created
	}
	return omitted, json.MarshalEncode(s.to, &c)
}

// An exchange is what the events of an invocation, and of the answers to its questions, say.
type exchange struct {
	id   string
	user *entry
	said []*entry // by agents and plugins, and the user's responses
}

func (x *Extract) conversation() ([]evalInvocation, Omitted, error) {
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
			ex.said = append(ex.said, en)
		case en.Author == session.User && en.Content != nil && ex.user == nil:
			ex.user = en // a file, say
		}
	}

	conversation := []evalInvocation{}
	for _, ex := range order {
		if ex.user == nil {
			omitted.Events += len(ex.said) // the kit has no invocation without a user's content
			continue
		}
		invocation, err := ex.invocation()
		if err != nil {
			return nil, omitted, err
		}
		conversation = append(conversation, invocation)
	}
	return conversation, omitted, nil
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
	for i, en := range ex.said {
		if isFinal(en.Event) {
			last = i
		}
	}
	between := &evalIntermediate{}
	for i, en := range ex.said {
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
		data, err := (&session.Event{Content: en.Content}).MarshalJSON()
		if err != nil {
			return nil, err
		}
		var wire struct {
			Content raw `json:"content"`
		}
		if err := json.Unmarshal(data, &wire, lenient); err != nil {
			return nil, fmt.Errorf("trajectory: %w", err)
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
