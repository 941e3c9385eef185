package a2a

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	wire "github.com/plughook/plughook/internal/a2awire"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A stream tells a client what a task does.
type stream struct {
	c    *call
	task taskID
	out  *sse.Stream
	sent map[string]string // the text so far, by artifact
}

func (s *stream) send(result wire.Result) error {
	data, err := json.Marshal(s.c.response(result), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	return s.out.Send("", 0, data)
}

func (s *stream) status(status wire.Status) error {
	return s.send(wire.Result{StatusUpdate: &wire.StatusUpdate{TaskID: s.task.String(), ContextID: s.task.key.ID, Status: status}})
}

// event tells of what an agent says. Text comes as it is made; what was streamed and is not so in the whole
// event, since a plugin has changed it, is replaced.
func (s *stream) event(e *session.Event) error {
	if e.InvocationID != s.task.invocation {
		return nil
	}
	a := artifactOf(e)
	sent, begun := s.sent[e.ID]
	text := wire.TextOf(a.Parts)
	update := &wire.ArtifactUpdate{
		TaskID:    s.task.String(),
		ContextID: s.task.key.ID,
		Artifact:  a,
		Append:    begun,
		LastChunk: !e.Partial,
	}
	switch {
	case e.Partial && text == "", !begun && len(a.Parts) == 0:
		return nil
	case e.Partial:
		s.sent[e.ID] = sent + text
		update.Artifact.Parts = []wire.Part{wire.Text(text)}
	case begun && len(a.Parts) <= 1 && strings.HasPrefix(text, sent):
		update.Artifact.Parts = []wire.Part{wire.Text(text[len(sent):])}
	case begun:
		update.Append = false
		if len(a.Parts) == 0 {
			update.Artifact.Parts = []wire.Part{wire.Text("")}
		}
	}
	if !e.Partial {
		delete(s.sent, e.ID)
	}
	return s.send(wire.Result{ArtifactUpdate: update})
}

// stream answers with what a task does, from its beginning: the task, what it makes, and how it ends.
func (x *routes) stream(c *call, t taskID, run *runs.Run, follower *runs.Follower) error {
	ctx, out, done, err := x.OpenStream(c.w, c.r)
	if err != nil {
		return err
	}
	defer done()
	s := &stream{c: c, task: t, out: out, sent: map[string]string{}}
	err = s.send(wire.Result{Task: &wire.Task{ID: t.String(), ContextID: t.key.ID, Status: status(wire.Submitted, nil)}})
	working := false
	if err == nil {
		err = x.Pump(ctx, out, follower, func(e *session.Event) error {
			if !working {
				working = true
				if err := s.status(status(wire.Working, nil)); err != nil {
					return err
				}
			}
			return s.event(e)
		})
	}
	if err == nil {
		var task *fullTask
		if task, err = x.taskOf(c, t, run); err == nil {
			err = s.last(task)
		}
	}
	x.broken(s, err)
	return nil
}

// last tells how a task has ended, or what it waits for. What was streamed and did not become an event is
// taken back.
func (s *stream) last(task *fullTask) error {
	for id := range s.sent {
		update := &wire.ArtifactUpdate{
			TaskID:    s.task.String(),
			ContextID: s.task.key.ID,
			Artifact:  wire.Artifact{ArtifactID: id, Parts: []wire.Part{wire.Text("")}},
			LastChunk: true,
		}
		if err := s.send(wire.Result{ArtifactUpdate: update}); err != nil {
			return err
		}
	}
	return s.status(task.Status)
}

// broken tells why a stream ends before its task does.
func (x *routes) broken(s *stream, err error) {
	if err == nil || errors.Is(err, web.ErrLeft) || errors.Is(err, context.Canceled) {
		return
	}
	body := map[string]any{"jsonrpc": "2.0", "id": s.c.id, "error": x.errorOf(s.c, err)}
	if data, err := json.Marshal(body); err == nil {
		_ = s.out.Send("", 0, data)
	}
}

// subscribe answers with what a task that works does, whichever process runs it.
func (x *routes) subscribe(c *call) (any, error) {
	var params wire.TaskParams
	if err := c.decode(&params); err != nil {
		return nil, err
	}
	t, err := x.parse(c, params.ID)
	if err != nil {
		return nil, err
	}
	if run := x.Runs.Find(c.app.Sessions, t.key, t.invocation); run != nil {
		follower := run.Follow(0)
		defer follower.Close()
		return nil, x.stream(c, t, run, follower)
	}
	task, err := x.task(c, t)
	switch {
	case err != nil:
		return nil, err
	case task.Status.State.Terminal():
		return nil, &wire.Error{Code: wire.CodeUnsupported, Message: "the task has ended; get it"}
	}
	return nil, x.follow(c, t, task)
}

// follow is stream for a task that another process runs, or that waits for an answer.
func (x *routes) follow(c *call, t taskID, task *fullTask) error {
	var after int64
	if len(task.events) > 0 {
		after = task.events[len(task.events)-1].Seq
	}
	follower, err := x.Runs.FollowSession(c.r.Context(), c.app.Sessions, t.key, after)
	if err != nil {
		return err
	}
	defer follower.Close()
	ctx, out, done, err := x.OpenStream(c.w, c.r)
	if err != nil {
		return err
	}
	defer done()
	s := &stream{c: c, task: t, out: out, sent: map[string]string{}}
	err = s.send(wire.Result{Task: &task.Task})
	may := x.Admission(ctx)
	for err == nil && !task.Status.State.Pauses() {
		var e *session.Event
		e, err = follower.Next(ctx, time.Second)
		if err == nil {
			err = may.Check()
		}
		switch {
		case err != nil:
		case e != nil:
			err = s.event(e)
		default:
			// The log has no mark of a run's end. So in silence the task is looked at.
			if task, err = x.task(c, t); err == nil && (task.Status.State.Terminal() || task.Status.State.Pauses()) {
				x.broken(s, s.last(task))
				return nil
			}
			if err == nil {
				err = out.Heartbeat()
			}
		}
	}
	x.broken(s, err)
	return nil
}
