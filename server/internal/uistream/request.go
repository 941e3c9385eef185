package uistream

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A request is the body that a client posts. The last three are ours. Other keys are not used.
type request struct {
	ID        string    `json:"id"`
	Messages  []message `json:"messages"`
	Trigger   string    `json:"trigger"`
	MessageID string    `json:"messageId"`

	Busy         runs.Busy      `json:"onBusy"`
	OnDisconnect string         `json:"onDisconnect"`
	State        map[string]any `json:"stateDelta"`
}

// A message is one that the client has.
type message struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// A part is a part of a message, of whatever type.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// of a file
	MediaType string `json:"mediaType"`
	URL       string `json:"url"`
	Filename  string `json:"filename"`
	// of a tool
	CallID    string    `json:"toolCallId"`
	State     string    `json:"state"`
	Output    any       `json:"output"`
	ErrorText string    `json:"errorText"`
	Approval  *approval `json:"approval"`
}

type approval struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason"`
}

// againMark stands between the id of a message and what tells its later inputs from the first one.
const againMark = "/again-"

// messageID returns the id of the message that an input is.
func messageID(input string) string {
	id, _, _ := strings.Cut(input, againMark)
	return id
}

// answerTo returns the id of the assistant's message that begins behind an input.
func answerTo(input string) string { return input + "/answer" }

// last returns the last message.
func (q *request) last() message {
	if len(q.Messages) == 0 {
		return message{}
	}
	return q.Messages[len(q.Messages)-1]
}

// regenerates reports whether the client wants another answer to its last message.
func (q *request) regenerates() bool {
	return q.last().Role == session.User && q.Trigger == "regenerate-message"
}

// edited reports whether the last message stands in place of one that was sent with its id before.
func (q *request) edited() bool {
	return q.last().Role == session.User && !q.regenerates() && q.MessageID != "" && q.MessageID == q.last().ID
}

// calls returns the ids of the calls that are shown in the message that the stream goes on with.
func (q *request) calls() map[string]bool {
	m := q.last()
	i := slices.IndexFunc(q.Messages, func(m message) bool { return m.ID == q.MessageID })
	if i >= 0 && q.MessageID != "" {
		m = q.Messages[i]
	}
	shown := map[string]bool{}
	for _, p := range m.Parts {
		if p.CallID != "" && m.Role != session.User {
			shown[p.CallID] = true
		}
	}
	return shown
}

// input returns the input of the run: the user's message, and answers to calls of those that wait.
func (q *request) input(waiting []sessions.WaitingCall) (*session.Event, error) {
	switch q.Busy {
	case "", runs.Wait, runs.Reject, runs.Interrupt, runs.Rollback:
	default:
		return nil, web.Bad("onBusy is wait, reject, interrupt or rollback")
	}
	switch q.OnDisconnect {
	case "", "continue", "cancel":
	default:
		return nil, web.Bad("onDisconnect is continue or cancel")
	}
	e := &session.Event{ID: session.NewID(), Author: session.User}
	if m := q.last(); m.Role == session.User {
		if (session.Key{App: "app", User: "user", ID: m.ID}).Check(false) != nil {
			return nil, web.Bad("the id of the last message is missing or not usable: 1 to 512 bytes " +
				"without control characters")
		}
		e.ID = m.ID
		e.Content = &genai.Content{Role: genai.RoleUser}
		for i, p := range m.Parts {
			switch {
			case p.Type == "text" && p.Text != "":
				e.Content.Parts = append(e.Content.Parts, &genai.Part{Text: p.Text})
			case p.Type == "file":
				file, err := p.file()
				if err != nil {
					return nil, web.Bad(fmt.Sprintf("parts[%d] of the last message: %v", i, err))
				}
				e.Content.Parts = append(e.Content.Parts, file)
			}
		}
		if len(e.Content.Parts) == 0 {
			return nil, web.Bad("the last message has neither a text nor a file")
		}
	}
	e.InvocationID = e.ID
	answered := false
	for _, c := range waiting {
		for _, m := range q.Messages {
			for _, p := range m.Parts {
				answered = m.Role == "assistant" && p.CallID == c.ID && p.answer(e, c) || answered
			}
		}
	}
	if e.Content == nil && !answered {
		return nil, sessions.NotWaiting("the last message is none of the user's, and no call waits that " +
			"is answered in it")
	}
	e.Actions.StateDelta = q.State
	return e, nil
}

// answer adds the answer to a call to an input, if the part has one.
func (p *part) answer(e *session.Event, c sessions.WaitingCall) bool {
	switch {
	case c.Confirm && p.State == "approval-responded" && p.Approval != nil:
		decision := session.Confirmation{Confirmed: p.Approval.Approved}
		if p.Approval.Reason != "" {
			decision.Payload = p.Approval.Reason
		}
		e.Actions.Confirm(c.ID, decision)
	case c.Confirm:
		return false
	case p.State == "output-error":
		sessions.Respond(e, c.ID, c.Name, map[string]any{"error": p.ErrorText})
	case p.State == "output-available" && !(c.Interim != nil && reflect.DeepEqual(p.Output, any(c.Interim))):
		sessions.Respond(e, c.ID, c.Name, p.Output) // the server has told of an interim one itself
	default:
		return false
	}
	return true
}

// file returns the file that a part has: its bytes, where it is a data URL, or where it is.
func (p *part) file() (*genai.Part, error) {
	scheme, rest, _ := strings.Cut(p.URL, ":")
	switch scheme {
	case "http", "https", "gs":
		file := &genai.FileData{MIMEType: p.MediaType, FileURI: p.URL, DisplayName: p.Filename}
		return &genai.Part{FileData: file}, nil
	case "data":
	default:
		return nil, fmt.Errorf("the url of a file is of scheme data, https, http or gs")
	}
	kind, text, _ := strings.Cut(rest, ",")
	var data []byte
	kind, inBase64 := strings.CutSuffix(kind, ";base64")
	var err error
	if inBase64 {
		data, err = base64.StdEncoding.DecodeString(text)
	} else {
		text, err = url.PathUnescape(text)
		data = []byte(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the data of its url cannot be read")
	}
	if p.MediaType != "" {
		kind = p.MediaType
	}
	return &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: data, DisplayName: p.Filename}}, nil
}

// isMessage reports whether an event is a message of the user's, rather than answers alone.
func isMessage(e *session.Event) bool {
	return e.Author == session.User && !e.Marker() && len(partsOf(e)) > 0
}

// partsOf returns the texts and files of an event, as parts of a message.
func partsOf(e *session.Event) (parts []any) {
	for _, p := range e.Parts() {
		switch {
		case p.Text != "" && !p.Thought:
			parts = append(parts, frame{"type": "text", "text": p.Text})
		case p.InlineData != nil, p.FileData != nil:
			parts = append(parts, fileOf(p))
		}
	}
	return parts
}

// fileOf returns the chunk, or the part of a message, that a file is.
func fileOf(p *genai.Part) frame {
	f := frame{"type": "file"}
	name := ""
	if p.InlineData != nil {
		name = p.InlineData.DisplayName
		f["mediaType"] = p.InlineData.MIMEType
		f["url"] = "data:" + p.InlineData.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(p.InlineData.Data)
	} else {
		name = p.FileData.DisplayName
		f["mediaType"] = p.FileData.MIMEType
		f["url"] = p.FileData.FileURI
	}
	if name != "" {
		f["filename"] = name
	}
	return f
}
