package a2a

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	wire "github.com/plughook/plughook/internal/a2awire"
	"github.com/plughook/plughook/session"
)

// An exchange is one message to the remote agent, and what it answers.
type exchange struct {
	*remote
	ctx   context.Context
	host  *agent.Host
	yield func(*session.Event, error) bool
	left  bool // yield has returned false

	inv     *session.Invocation // when it began
	mem     memory
	message wire.Message
	spoken  bool // the user's text was taken for the response to the only open call

	task      string
	status    wire.Status
	artifacts []*artifact // that no event has been made of
	told      map[string]bool
	answered  bool // the answer is there without a task
}

// An artifact is what the remote agent makes, so far.
type artifact struct {
	id, event string // the remote agent's, and that of our event
	parts     []wire.Part
}

// put yields an event. It reports whether the agent may go on.
func (x *exchange) put(e *session.Event) bool {
	e.Branch = x.host.Branch
	e.Author = x.name
	if !x.left && !x.yield(e, nil) {
		x.left = true
	}
	return !x.left
}

// fail yields what went wrong between us and the remote agent, and before it what that has said so far.
func (x *exchange) fail(err error) {
	var large *tooLarge
	if !errors.As(err, &large) {
		for _, a := range x.artifacts {
			x.say(a)
		}
	}
	e := &session.Event{ErrorCode: Failed, ErrorMessage: fmt.Sprintf("agent %s at %s: %v", x.name, x.shown, err)}
	var refused *wire.Error
	if errors.As(err, &refused) && (refused.Code == wire.CodeTaskNotFound || refused.Code == wire.CodeUnsupported) && x.message.TaskID != "" {
		e.Actions.StateDelta = x.delta() // the task does not wait any more
	}
	x.put(e)
}

// converse sends the message and yields the answer.
func (x *exchange) converse() error {
	x.told = map[string]bool{}
	params := wire.SendParams{Message: x.message}
	err := x.call(x.ctx, wire.SendStreamingMessage, params, x.accept)
	var refused *wire.Error
	if errors.As(err, &refused) && (refused.Code == wire.CodeUnsupported || refused.Code == wire.CodeMethodNotFound) && x.task == "" && x.message.TaskID == "" {
		err = x.call(x.ctx, wire.SendMessage, params, x.accept) // it does not stream
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err != nil && (x.task == "" || !errors.Is(err, errBroken) && !errors.Is(err, errSilent)) {
		return err
	}

	// The connection has ended before the task has, or tells nothing: the task is asked for until it has
	// ended.
	if err = x.poll(); err != nil || x.left {
		return err
	}
	return x.finish()
}

// errEnough ends the reading of an answer: the last event of it was read.
var errEnough = errors.New("enough")

// over reports whether the remote agent does nothing more.
func (x *exchange) over() bool {
	return x.left || x.answered || x.status.State.Terminal() || x.status.State.Pauses()
}

// poll asks for the task until it has ended or waits, less and less often.
func (x *exchange) poll() error {
	if x.task == "" && !x.over() {
		return errors.New("it has answered with neither a message nor a task")
	}
	failures := 0
	for wait := 200 * time.Millisecond; !x.over(); wait = min(2*wait, 5*time.Second) {
		select {
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		case <-time.After(wait):
		}
		err := x.call(x.ctx, wire.GetTask, wire.TaskParams{ID: x.task}, x.accept)
		var refused *wire.Error
		if errors.As(err, &refused) {
			return err
		}
		failures++
		if err == nil || errors.Is(err, errEnough) {
			failures = 0
		}
		if failures == 3 {
			return err
		}
	}
	return nil
}

// accept takes one result of an answer. It returns errEnough after the last one.
func (x *exchange) accept(r *wire.Result) error {
	switch {
	case r.Message != nil:
		x.answered = true
		x.mem.Context = r.Message.ContextID
		x.artifacts = append(x.artifacts, &artifact{event: session.NewID(), parts: r.Message.Parts})
	case r.Task != nil:
		x.begin(r.Task.ID, r.Task.ContextID)
		for _, a := range r.Task.Artifacts {
			x.artifact(a.ArtifactID).parts = a.Parts
		}
		x.status = r.Task.Status
	case r.StatusUpdate != nil:
		x.begin(r.StatusUpdate.TaskID, r.StatusUpdate.ContextID)
		x.status = r.StatusUpdate.Status
	case r.ArtifactUpdate != nil:
		x.begin(r.ArtifactUpdate.TaskID, r.ArtifactUpdate.ContextID)
		x.more(r.ArtifactUpdate)
	}
	if x.over() {
		return errEnough
	}
	return nil
}

func (x *exchange) begin(task, context string) {
	if task != "" {
		x.task = task
	}
	if context != "" {
		x.mem.Context = context
	}
}

// artifact returns the artifact with an id, a new one if it is not there. What an event was made of already
// is not said again.
func (x *exchange) artifact(id string) *artifact {
	if x.told[id] {
		return &artifact{}
	}
	i := slices.IndexFunc(x.artifacts, func(a *artifact) bool { return a.id == id })
	if i < 0 {
		x.artifacts = append(x.artifacts, &artifact{id: id, event: session.NewID()})
		i = len(x.artifacts) - 1
	}
	return x.artifacts[i]
}

// more takes more of an artifact: text is yielded at once as a partial event, and all of it as an event when
// it is complete.
func (x *exchange) more(u *wire.ArtifactUpdate) {
	a := x.artifact(u.Artifact.ArtifactID)
	streams := u.Append || len(a.parts) == 0
	if !u.Append {
		a.parts = nil
	}
	a.parts = append(a.parts, u.Artifact.Parts...)
	text := wire.TextOf(u.Artifact.Parts)
	if streams && text != "" && a.event != "" && !(u.LastChunk && !u.Append) {
		e := session.Reply(text)
		e.ID = a.event
		e.Partial = true
		if !x.put(e) {
			return
		}
	}
	if u.LastChunk && a.event != "" {
		x.artifacts = slices.DeleteFunc(x.artifacts, func(other *artifact) bool { return other == a })
		x.told[a.id] = true
		x.say(a)
	}
}

// say yields an artifact as an event.
func (x *exchange) say(a *artifact) {
	var parts []*genai.Part
	for _, p := range wire.ToContent(a.parts) {
		last := len(parts) - 1
		if last >= 0 && p.Text != "" && parts[last].Text != "" {
			parts[last] = &genai.Part{Text: parts[last].Text + p.Text}
			continue
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return
	}
	x.put(&session.Event{
		ID:      a.event,
		Content: &genai.Content{Role: genai.RoleModel, Parts: parts},
		Actions: session.Actions{StateDelta: x.delta()},
	})
}

// finish yields what is left: artifacts without an end, and what the task has come to.
func (x *exchange) finish() error {
	if x.status.State == wire.Rejected {
		x.artifacts = nil
	}
	said := len(x.told) > 0 || len(x.artifacts) > 0
	for _, a := range x.artifacts {
		x.say(a)
	}
	if x.left {
		return nil
	}
	text := ""
	if x.status.Message != nil {
		text = wire.TextOf(x.status.Message.Parts)
	}
	e := &session.Event{}
	switch x.status.State {
	case wire.InputRequired:
		x.asks(e, text)
	case wire.AuthRequired:
		e.ErrorCode = AuthRequired
	case wire.Rejected:
		e.ErrorCode = session.Denied
	case wire.Canceled:
		e.ErrorCode = Canceled
	case wire.Failed:
		e.ErrorCode = Failed
	default:
		if said {
			return nil
		}
		if text != "" {
			e.Content = genai.NewContentFromText(text, genai.RoleModel)
		}
	}
	if e.ErrorCode != "" {
		e.ErrorMessage = clipped(text)
		if text == "" {
			e.ErrorMessage = fmt.Sprintf("agent %s at %s: %s", x.name, x.shown, x.status.State)
		}
		if e.ErrorCode == session.Denied && text != "" {
			e.Content = genai.NewContentFromText(text, genai.RoleModel)
		}
	}
	e.Actions.StateDelta = x.delta()
	x.put(e)
	return nil
}

// asks makes an event of what the remote agent asks: the calls that it names, or one for an input.
func (x *exchange) asks(e *session.Event, text string) {
	type asked struct {
		ID      string         `json:"id"`
		Name    string         `json:"name"`
		Args    map[string]any `json:"args"`
		Confirm bool           `json:"confirm"`
		Hint    string         `json:"hint"`
	}
	var list struct {
		Calls []asked `json:"calls"`
	}
	if x.status.Message != nil {
		for _, p := range x.status.Message.Parts {
			if len(p.Data) > 0 && json.Unmarshal(p.Data, &list) == nil && len(list.Calls) > 0 {
				break
			}
		}
	}
	list.Calls = slices.DeleteFunc(list.Calls, func(c asked) bool { return c.ID == "" || c.Name == "" })
	if len(list.Calls) == 0 {
		list.Calls = []asked{{Name: session.AskTool, Args: map[string]any{"message": text}}}
	}
	x.mem.Task = x.task
	x.mem.Calls = map[string]string{}
	e.Content = &genai.Content{Role: genai.RoleModel}
	for _, c := range list.Calls {
		id := "a2a-" + strings.ReplaceAll(session.NewID(), ".", "-")
		x.mem.Calls[id] = c.ID
		call := &genai.FunctionCall{ID: id, Name: c.Name, Args: c.Args}
		e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionCall: call})
		if !c.Confirm {
			e.LongRunningToolIDs = append(e.LongRunningToolIDs, id)
			continue
		}
		e.Actions.Confirm(id, session.Confirmation{Hint: c.Hint})
	}
}

// cancelTime is how long a run that ends before its task waits for the remote agent to hear of it.
const cancelTime = 2 * time.Second

// cancel cancels the task if it still works.
func (x *exchange) cancel() {
	if x.task == "" || x.status.State.Terminal() || x.status.State.Pauses() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), cancelTime)
	defer cancel()
	// How that went changes nothing: nobody waits for the task any more.
	_ = x.call(ctx, wire.CancelTask, wire.TaskParams{ID: x.task}, func(*wire.Result) error { return errEnough })
}
