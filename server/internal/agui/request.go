package agui

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A request is the body that a client posts. Keys that are not here, such as tools of the client, are not
// used.
type request struct {
	ThreadID       string         `json:"threadId"`
	RunID          string         `json:"runId"`
	State          jsontext.Value `json:"state"`
	Messages       []message      `json:"messages"`
	Resume         []resumption   `json:"resume"`
	ForwardedProps jsontext.Value `json:"forwardedProps"`
}

// A message is one that the client has, of whatever role.
type message struct {
	ID         string         `json:"id"`
	Role       string         `json:"role"`
	Content    jsontext.Value `json:"content"`
	ToolCallID string         `json:"toolCallId"`
}

// A resumption is an answer to a call that waits.
type resumption struct {
	InterruptID string `json:"interruptId"`
	Status      string `json:"status"`
	Payload     any    `json:"payload"`
}

// check returns what is wrong with the ids of a request.
func (q *request) check() error {
	usable := func(id string) bool {
		key := session.Key{App: "app", User: "user", ID: id}
		return key.Check(false) == nil
	}
	if !usable(q.RunID) {
		return web.Bad("runId is missing or not usable: 1 to 512 bytes without control characters")
	}
	for i, m := range q.Messages {
		if (m.Role == "user" || m.Role == "tool") && !usable(m.ID) {
			return web.Bad(fmt.Sprintf("messages[%d].id is missing or not usable: 1 to 512 bytes "+
				"without control characters", i))
		}
	}
	return nil
}

// props is what our own clients may want beside what the protocol has.
type props struct {
	Busy         runs.Busy      `json:"onBusy"`
	OnDisconnect string         `json:"onDisconnect"`
	StateDelta   map[string]any `json:"stateDelta"`
	Command      struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"command"`
}

// props reads the request's forwardedProps, which other clients fill with what they like.
func (q *request) props() (p props, err error) {
	if len(q.ForwardedProps) > 0 && q.ForwardedProps.Kind() == '{' {
		err = web.Unmarshal(q.ForwardedProps, &p)
	}
	return p, err
}

// input returns the input of the run, nil if the client has nothing to say: its messages that are not in the
// log, and its answers to calls that wait.
func (q *request) input(mine func([]sessions.WaitingCall) []sessions.WaitingCall, live []*session.Event, props props) (*session.Event, error) {
	e := &session.Event{ID: q.RunID, InvocationID: q.RunID, Author: session.User}

	// Answers come first. They are to all calls that wait, or to none.
	waiting := sessions.WaitingIn(live)
	if len(q.Resume) > 0 {
		if err := q.resume(e, waiting, mine(waiting)); err != nil {
			return nil, err
		}
	}
	for _, m := range q.new(live) {
		e.ID = m.ID
		parts, err := partsOf(m.Content)
		if err != nil {
			return nil, err
		}
		if m.Role == "user" {
			if e.Content == nil {
				e.Content = &genai.Content{Role: genai.RoleUser}
			}
			e.Content.Parts = append(e.Content.Parts, parts...)
			continue
		}
		i := slices.IndexFunc(waiting,
			func(c sessions.WaitingCall) bool { return c.ID == m.ToolCallID && !c.Confirm })
		if i < 0 {
			return nil, notWaiting(m.ToolCallID)
		}
		sessions.Respond(e, m.ToolCallID, waiting[i].Name, resultOf(parts))
	}

	e.Actions.StateDelta = props.StateDelta
	if props.Command.Name != "" {
		e.CustomMetadata = session.Command{
			Name: props.Command.Name,
			Args: props.Command.Args,
		}.Event().CustomMetadata
	}
	if e.Content == nil && len(e.Actions.StateDelta) == 0 && e.CustomMetadata == nil &&
		e.Actions.RequestedToolConfirmations == nil {
		return nil, nil
	}
	return e, nil
}

// new returns the messages of the user and of tools that the log does not have: those behind the last one
// that it has. The last message of all, if it is the user's, counts as new: the client wants its answer.
func (q *request) new(live []*session.Event) []message {
	known := map[string]bool{}
	for _, m := range messagesOf(live) {
		known[m["id"].(string)] = true
	}
	for _, e := range live {
		if in := plugin.NotesOf(e).Input; in != nil {
			known[in.ID] = true // a plugin has withheld it
		}
	}
	begin := len(q.Messages)
	for i, m := range slices.Backward(q.Messages) {
		retried := i == len(q.Messages)-1 && m.Role == "user"
		if known[m.ID] && !retried {
			break
		}
		begin = i
	}
	return slices.DeleteFunc(slices.Clone(q.Messages[begin:]), func(m message) bool {
		return m.Role != "user" && m.Role != "tool"
	})
}

func notWaiting(call string) error {
	return sessions.NotWaiting(fmt.Sprintf("no call %q waits for this answer", call))
}

// resume puts the answers to calls into an input. mine are those of the waiting calls that the client may answer.
func (q *request) resume(e *session.Event, waiting, mine []sessions.WaitingCall) error {
	answered := map[string]bool{}
	for _, a := range q.Resume {
		i := slices.IndexFunc(waiting, func(c sessions.WaitingCall) bool { return c.ID == a.InterruptID })
		if i < 0 || answered[a.InterruptID] {
			return notWaiting(a.InterruptID)
		}
		answered[a.InterruptID] = true
		cancelled := a.Status == "cancelled"
		if !cancelled && a.Status != "resolved" {
			return web.Bad("the status of an answer is resolved or cancelled")
		}
		if !waiting[i].Confirm {
			response := a.Payload
			if cancelled {
				response = map[string]any{"error": "cancelled: the user has given no " +
					"answer", "cancelled": true}
			}
			sessions.Respond(e, a.InterruptID, waiting[i].Name, response)
			continue
		}
		yes, ok := decision(a.Payload)
		if !cancelled && !ok {
			return web.Bad("the payload of the answer to a call that waits for a yes or no is " +
				`{"approved": true} or {"approved": false}`)
		}
		c := session.Confirmation{Confirmed: yes && !cancelled}
		if more, ok := a.Payload.(map[string]any); ok && len(more) > 1 {
			c.Payload = more
		}
		e.Actions.Confirm(a.InterruptID, c)
	}
	for _, c := range mine {
		if !answered[c.ID] {
			message := fmt.Sprintf("call %q waits, too: answer all calls that wait at once", c.ID)
			return web.NewProblem(http.StatusConflict, "incomplete", message)
		}
	}
	return nil
}

// decision returns the yes or no of a payload; ok says whether it has one.
func decision(payload any) (yes, ok bool) {
	switch v := payload.(type) {
	case bool:
		return v, true
	case map[string]any:
		for _, key := range []string{"approved", "confirmed"} {
			if yes, ok := v[key].(bool); ok {
				return yes, true
			}
		}
	}
	return false, false
}

// resultOf returns the response that the content of a tool message is.
func resultOf(parts []*genai.Part) any {
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	var v any
	if json.Unmarshal([]byte(text.String()), &v) != nil {
		v = text.String()
	}
	return v
}

// partsOf returns the parts of a message's content: a text, or a list of texts and files.
func partsOf(content jsontext.Value) ([]*genai.Part, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []*genai.Part{{Text: text}}, nil
	}
	var list []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source struct {
			Type     string `json:"type"`
			Value    string `json:"value"`
			MIMEType string `json:"mimeType"`
		} `json:"source"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, web.Bad("the content of a message is a text or a list of parts")
	}
	var parts []*genai.Part
	for _, p := range list {
		switch {
		case p.Type == "text":
			parts = append(parts, &genai.Part{Text: p.Text})
		case p.Source.Type == "data":
			data, err := base64.StdEncoding.DecodeString(p.Source.Value)
			if err != nil {
				return nil, web.Bad("the source of a part is not base64")
			}
			parts = append(parts,
				&genai.Part{InlineData: &genai.Blob{MIMEType: p.Source.MIMEType, Data: data}})
		case p.Source.Type == "url", p.Source.Type == "file":
			parts = append(
				parts,
				&genai.Part{FileData: &genai.FileData{MIMEType: p.Source.MIMEType, FileURI: p.Source.Value}},
			)
		default:
			return nil, web.Bad("the content of a message has a part that is neither text nor a file")
		}
	}
	return parts, nil
}
