package a2a

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"google.golang.org/genai"

	wire "github.com/plughook/plughook/internal/a2awire"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// send runs a message and answers with its task, once that has ended or waits for an answer, or at once.
func (x *routes) send(c *rpcRequest, params *wire.SendParams) (any, error) {
	t, run, follower, err := x.start(c, params)
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	if !params.Configuration.ReturnImmediately {
		if err := web.WaitForEnd(c.r.Context(), run); err != nil {
			return nil, err // the task goes on
		}
		if end := run.End(); end.Kind == runs.CutOff {
			return nil, end.Err // the same message goes on with it
		}
	}
	task, err := x.taskOf(c, t, run)
	if err != nil {
		return nil, err
	}
	task.trim(params.Configuration.HistoryLength)
	return wire.Result{Task: &task.Task}, nil
}

// sendStreaming runs a message and answers with a stream of what its task does.
func (x *routes) sendStreaming(c *rpcRequest, params *wire.SendParams) (any, error) {
	t, run, follower, err := x.start(c, params)
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	first := wire.Task{ID: t.String(), ContextID: t.key.ID, Status: status(wire.Submitted, nil)}
	return nil, x.stream(c, t, run, follower, &fullTask{Task: first})
}

// start starts the run of a message, or joins the one that it has started before.
func (x *routes) start(
	c *rpcRequest, params *wire.SendParams) (t taskID, run *runs.Run, follower *runs.RunFollower, err error,
) {
	m := &params.Message
	switch {
	case m.MessageID == "":
		return t, nil, nil, bad("message.messageId is missing")
	case m.Role != wire.RoleUser && m.Role != "":
		return t, nil, nil, bad("message.role is not " + wire.RoleUser)
	case len(m.Parts) == 0:
		return t, nil, nil, bad("message.parts is empty")
	}
	if (session.Key{App: "app", User: "user", ID: m.MessageID}).Check(false) != nil {
		return t, nil, nil, bad("message.messageId is not usable: 1 to 512 bytes without control characters")
	}
	input := &session.Event{ID: m.MessageID, Author: session.User}
	if m.TaskID == "" {
		if m.ContextID == "" {
			m.ContextID = session.NewID()
		}
		t.key, err = x.Key(c.r, c.app, c.r.URL.Query().Get("user"), m.ContextID, false)
		if err != nil {
			return t, nil, nil, err
		}
		input.InvocationID = m.MessageID
		input.Content = &genai.Content{Role: genai.RoleUser, Parts: wire.ToContent(m.Parts)}
	} else {
		t, err = x.parse(c, m.TaskID)
		switch {
		case err != nil:
			return t, nil, nil, err
		case m.ContextID != "" && m.ContextID != t.key.ID:
			return t, nil, nil, bad("message.contextId is not that of the task")
		}
		if input, err = x.continuation(c, t, m); err != nil {
			return t, nil, nil, err
		}
	}
	q := sessions.Request(c.app, t.key, input)
	q.Config = session.RunConfig{Create: m.TaskID == "", Streaming: session.SSE}
	run, follower, err = x.Runs.Start(c.r.Context(), q, 0)
	if err != nil {
		return t, nil, nil, err
	}
	t.invocation = run.Invocation
	if err := web.WaitForBegin(c.r.Context(), run); err != nil {
		follower.Close()
		return t, nil, nil, err
	}
	return t, run, follower, nil
}

// continuation returns the input that goes on with a task.
func (x *routes) continuation(c *rpcRequest, t taskID, m *wire.Message) (*session.Event, error) {
	task, err := x.task(c, t)
	if err != nil {
		return nil, err
	}

	// A client that did not get the answer sends its message again.
	for _, e := range task.events {
		if e.ID == m.MessageID && e.Author == session.User {
			again := e.Clone()
			again.Seq = 0
			return again, nil
		}
	}
	switch state := task.Status.State; {
	case state.Terminal():
		return nil, wireError(wire.CodeUnsupported, "the task has ended; send the message without a taskId")
	case !state.Pauses():
		return nil, wireError(wire.CodeUnsupported, "the task is still working")
	}
	e := &session.Event{ID: m.MessageID, InvocationID: t.invocation, Author: session.User}
	return e, addAnswer(e, task.waiting, m.Parts)
}

// addAnswer puts what a message answers to the calls that wait into an input. Data answers the call that its
// "id" names, or the only one: {"confirmed": true}, or the response. A text answers the only one: yes or no,
// or what is asked for.
func addAnswer(e *session.Event, waiting []sessions.WaitingCall, parts []wire.Part) error {
	answered := map[string]bool{}
	find := func(id string) (*sessions.WaitingCall, error) {
		i := slices.IndexFunc(waiting, func(w sessions.WaitingCall) bool {
			return w.ID == id || id == "" && len(waiting) == 1
		})
		if i < 0 || answered[waiting[i].ID] {
			return nil, bad(fmt.Sprintf("which call does this answer? %d wait; name one in data, as "+
				"id", len(waiting)))
		}
		answered[waiting[i].ID] = true
		return &waiting[i], nil
	}
	var rest []wire.Part
	for _, p := range parts {
		var data map[string]any
		if len(p.Data) == 0 || json.Unmarshal(p.Data, &data) != nil {
			rest = append(rest, p)
			continue
		}
		id, _ := data["id"].(string)
		w, err := find(id)
		if err != nil {
			return err
		}
		yes, decided := data["confirmed"].(bool)
		response, responded := data["response"].(map[string]any)
		switch {
		case w.Confirm && !decided:
			return bad(
				fmt.Sprintf(`call %q waits for a yes or no: {"id": %q, "confirmed": true}`, w.ID, w.ID),
			)
		case w.Confirm:
			e.Actions.Confirm(w.ID, session.Confirmation{Confirmed: yes})
		case responded:
			sessions.Respond(e, w.ID, w.Name, response)
		default:
			delete(data, "id")
			sessions.Respond(e, w.ID, w.Name, data)
		}
	}
	if text := strings.TrimSpace(wire.TextOf(rest)); len(answered) == 0 {
		w, err := find("")
		if err != nil {
			return err
		}
		yes, decided := sessions.YesOrNo(text)
		switch {
		case w.Confirm && !decided:
			return bad(fmt.Sprintf(
				`call %q waits for a yes or no: answer "yes" or "no", or with data {"id": %q, "confirmed": true}`,
				w.ID,
				w.ID,
			))
		case w.Confirm:
			e.Actions.Confirm(w.ID, session.Confirmation{Confirmed: yes})
		default:
			sessions.Respond(e, w.ID, w.Name, text)
		}
		rest = slices.DeleteFunc(rest, func(p wire.Part) bool { return p.Text != nil })
	}
	if more := wire.ToContent(rest); len(more) > 0 {
		if e.Content == nil {
			e.Content = &genai.Content{Role: genai.RoleUser}
		}
		e.Content.Parts = append(e.Content.Parts, more...)
	}
	return nil
}

// cancelTask ends a task that works.
func (x *routes) cancelTask(c *rpcRequest, t taskID, _ *wire.TaskParams) (any, error) {
	task, err := x.task(c, t)
	switch {
	case err != nil:
		return nil, err
	case task.Status.State == wire.Canceled:
		return task.Task, nil
	case task.Status.State.Terminal():
		return nil, wireError(wire.CodeNotCancelable, "the task has ended")
	case task.Status.State.Pauses():
		return nil, wireError(wire.CodeNotCancelable, "the task waits for an answer, and does "+
			"nothing until it comes: answer no")
	}
	kind, run, err := x.Cancel(c.r.Context(), c.app, t.key, t.invocation, true)
	if err != nil {
		return nil, err
	}
	if run != nil && run.End().Kind != "" {
		kind = run.End().Kind
	}
	if kind != runs.Cancelled { // it ended by itself just then
		return nil, wireError(wire.CodeNotCancelable, "the task has ended")
	}
	task.Status = status(wire.Canceled, nil)
	return task.Task, nil
}
