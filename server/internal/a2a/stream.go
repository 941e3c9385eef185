package a2a

import (
	"context"
	"errors"
	"slices"
	"strings"

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
	c    *rpcRequest
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
	return s.send(wire.Result{StatusUpdate: &wire.StatusUpdate{
		TaskID:    s.task.String(),
		ContextID: s.task.key.ID,
		Status:    status,
	}})
}

// artifact tells of an artifact: of all of it, or of more of it, and whether that was the last of it.
func (s *stream) artifact(a wire.Artifact, more, last bool) error {
	return s.send(wire.Result{ArtifactUpdate: &wire.ArtifactUpdate{
		TaskID:    s.task.String(),
		ContextID: s.task.key.ID,
		Artifact:  a,
		Append:    more,
		LastChunk: last,
	}})
}

// event tells of what an agent says. Text comes as it is made; what was streamed and is not so in the whole
// event, since a plugin has changed it, is replaced.
func (s *stream) event(e *session.Event) error {
	a := artifactOf(e)
	sent, begun := s.sent[e.ID]
	text := wire.TextOf(a.Parts)
	more := begun
	switch {
	case e.Partial && text == "", !begun && len(a.Parts) == 0:
		return nil
	case e.Partial:
		s.sent[e.ID] = sent + text
		a.Parts = []wire.Part{wire.Text(text)}
	case begun && len(a.Parts) <= 1 && strings.HasPrefix(text, sent):
		a.Parts = []wire.Part{wire.Text(text[len(sent):])}
	case begun:
		more = false
		if len(a.Parts) == 0 {
			a.Parts = []wire.Part{wire.Text("")}
		}
	}
	if !e.Partial {
		delete(s.sent, e.ID)
	}
	return s.artifact(a, more, !e.Partial)
}

// stream answers with what a task does: the task as it is first, what it makes from there on, and how it
// ends. run is nil if another process runs it.
func (x *routes) stream(c *rpcRequest, t taskID, run *runs.Run, from runs.Follower, first *fullTask) error {
	return x.Stream(c.w, c.r, func(_ context.Context, out *sse.Stream) web.Frames {
		s := &stream{c: c, task: t, out: out, sent: map[string]string{}}
		working := first.Status.State != wire.Submitted
		return web.Frames{
			From:  from,
			Begin: func() error { return s.send(wire.Result{Task: &first.Task}) },
			Event: func(e *session.Event) error {
				// Pieces of an event can come although the first frame has it: the log has an event before the
				// run tells of it.
				has := func(other *session.Event) bool { return other.ID == e.ID }
				if slices.ContainsFunc(first.events, has) {
					return nil
				}
				if !working {
					working = true
					if err := s.status(status(wire.Working, nil)); err != nil {
						return err
					}
				}
				return s.event(e)
			},
			End: func() error {
				if first.Status.State.Pauses() {
					return nil // the first frame has said all
				}
				if run != nil && run.End().Kind == runs.CutOff {
					return run.End().Err // the same message goes on with it
				}
				task, err := x.taskOf(c, t, run)
				if err != nil {
					return err
				}
				return s.last(task)
			},
			Broken: func(err error) { x.broken(s, err) },
		}
	})
}

// last tells how a task has ended, or what it waits for. What was streamed and did not become an event is
// taken back.
func (s *stream) last(task *fullTask) error {
	for id := range s.sent {
		if err := s.artifact(wire.Artifact{ArtifactID: id, Parts: []wire.Part{wire.Text("")}}, false, true); err != nil {
			return err
		}
	}
	return s.status(task.Status)
}

// broken tells why a stream ends before its task does.
func (x *routes) broken(s *stream, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	body := map[string]any{"jsonrpc": "2.0", "id": s.c.id, "error": x.errorOf(s.c, err)}
	if data, err := json.Marshal(body); err == nil {
		_ = s.out.Send("", 0, data)
	}
}

// subscribe answers with a task that works, whichever process runs it, or that waits for an answer, and with
// what it does from there on.
func (x *routes) subscribe(c *rpcRequest, t taskID, _ *wire.TaskParams) (any, error) {
	run := x.Runs.Find(t.key, t.invocation)
	task, err := x.taskOf(c, t, run)
	switch {
	case err != nil:
		return nil, err
	case task.Status.State.Terminal():
		return nil, wireError(wire.CodeUnsupported, "the task has ended; get it")
	case task.Status.State.Pauses():
		return nil, x.stream(c, t, nil, runs.Nothing{}, task)
	}
	var after int64
	if len(task.events) > 0 {
		after = task.events[len(task.events)-1].Seq
	}
	var from runs.Follower
	if run != nil {
		from = run.Follow(after)
	} else if from, err = x.Runs.FollowInvocation(c.r.Context(), c.app.Sessions(), t.key, t.invocation, after); err != nil {
		return nil, err
	}
	defer from.Close()
	return nil, x.stream(c, t, run, from, task)
}
