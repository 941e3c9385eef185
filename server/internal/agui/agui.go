// Package agui serves the Agent-User Interaction protocol, AG-UI 1.0 (https://docs.ag-ui.com): a page posts
// what was said so far, and is answered with a stream of the events of one run.
//
// A thread is a session and a run an invocation. The session's log is what counts: of the messages that a
// client sends, those count that the log does not have yet, and its state counts only where it asks for a
// change (forwardedProps.stateDelta).
//
// A new kind of event of the protocol: where stream.event tells of an event, and, if it is a message, in
// messagesOf as well. A new key of requests: a field of request or props, read in request.input.
package agui

import (
	"context"
	"errors"
	"net/http"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// routes are the handlers.
type routes struct{ sessions.Service }

// Register adds the routes to a mux.
func Register(mux *http.ServeMux, core *web.Core) {
	x := &routes{sessions.Service{Core: core}}
	mux.HandleFunc("POST /agui/{app}", func(w http.ResponseWriter, r *http.Request) {
		if err := x.run(w, r); err != nil {
			x.Fail(w, r, err)
		}
	})
}

// run answers a request with the events of a run. What is wrong with the request itself, and a run that
// cannot begin, are answered with a status; what is wrong with its answers to calls, and what happens later,
// with RUN_ERROR.
func (x *routes) run(w http.ResponseWriter, r *http.Request) error {
	app, err := x.App(r, r.PathValue("app"))
	if err != nil {
		return err
	}

	// The whole history comes each time, and may hold files.
	data, err := web.JSON(w, r, x.Limits.Upload)
	if err != nil {
		return err
	}
	var in request
	if err := web.Unmarshal(data, &in); err != nil {
		return err
	}
	key, err := x.Key(r, app, r.URL.Query().Get("user"), in.ThreadID, false)
	if err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}

	// What is new in it?
	live, err := x.Live(r.Context(), app, key)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	props, err := in.props()
	if err != nil {
		return err
	}
	st := &stream{routes: x, r: r, app: app, key: key, in: &in, live: live}
	for _, e := range live {
		st.after = max(st.after, e.Seq)
	}
	input, wrong := in.input(func(list []sessions.WaitingCall) []sessions.WaitingCall {
		return sessions.Mine(r.Context(), key, list)
	}, live, props)
	switch {
	case wrong != nil:
		return x.answer(w, st, runs.Nothing{Err: wrong})
	case input == nil: // show what is there
		from, err := x.current(st)
		if err != nil {
			return err
		}
		defer from.Close()
		return x.answer(w, st, from)
	}

	// Run it.
	st.input = input.ID
	st.before, err = app.Sessions().Get(r.Context(), key)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	q := sessions.Request(app, key, input)
	q.Config = session.RunConfig{Create: true, Streaming: session.SSE}
	q.Busy = props.Busy
	q.LeaveCancels = props.OnDisconnect != "continue" // a client stops a run by leaving
	run, follower, err := x.Runs.Start(r.Context(), q, 0)
	if err != nil {
		return err
	}
	defer func() { follower.Close() }()
	st.run = run
	if run.Request().Input != input {
		st.joined = true
		earlier := follower
		follower = run.Follow(st.after)
		earlier.Close()
	}
	return x.answer(w, st, follower)
}

// current returns a Follower of the run on the session, in whatever process it is, and of nothing if none runs.
func (x *routes) current(st *stream) (runs.Follower, error) {
	if st.run = x.Runs.Find(st.key, ""); st.run != nil {
		st.joined = true
		return st.run.Follow(st.after), nil
	}
	s, err := st.app.Sessions().Get(st.r.Context(), st.key)
	switch {
	case errors.Is(err, session.ErrNotFound), err == nil && s.Holder == "":
		return runs.Nothing{}, nil
	case err != nil:
		return nil, err
	}
	st.joined = true
	return x.Runs.FollowInvocation(st.r.Context(), st.app.Sessions(), st.key, s.Holder, st.after)
}

// answer sends the stream: of a run, or without one what is in the session.
func (x *routes) answer(w http.ResponseWriter, st *stream, from runs.Follower) error {
	if st.run != nil {
		if err := web.WaitForBegin(st.r.Context(), st.run); err != nil {
			return err
		}
	}
	return x.Stream(w, st.r, func(ctx context.Context, out *sse.Stream) web.Frames {
		st.ctx = ctx
		st.out = out
		return web.Frames{From: from, Begin: st.started, Event: st.event, End: st.end, Broken: st.broken}
	})
}

// started tells that the run has started, and of one that was begun by another request what it has done so far.
func (st *stream) started() error {
	st.send(
		frame{"type": "RUN_STARTED", "threadId": st.key.ID, "runId": st.in.RunID, "protocolVersion": "1.0"},
	)
	if st.joined {
		st.begun = true
		s, err := st.app.Sessions().Get(st.ctx, st.key)
		if err == nil {
			st.sendState(s.State)
		}
		st.send(frame{"type": "MESSAGES_SNAPSHOT", "messages": messagesOf(st.live)})
	}
	return st.err
}

// broken tells why the stream ends before the run.
func (st *stream) broken(err error) { st.fail(st.Noted(st.r, err)) }

// end tells how the run has ended, or what is in the session if there is none.
func (st *stream) end() error {
	if st.run == nil && !st.joined {
		st.snapshots()
		st.finish()
		return st.err
	}
	events := st.seen
	end := runs.EndIn(events)
	if st.run != nil {
		events = st.run.Events()
		end = st.run.End()
	}
	var failed *session.Event // the last thing that was said, if it is a failure
	for _, e := range events {
		switch {
		case e.Author == session.User, e.Marker():
		case e.ErrorCode != "" && len(e.FunctionResponses()) == 0:
			failed = e
		case e.Content != nil:
			failed = nil
		}
	}
	st.closeAll()
	if st.input != "" && !st.begun && end.Err == nil {
		st.stale = true // a plugin has withheld the input, or it was sent before
	}
	switch {
	case st.rewound:
		st.snapshots()
	case st.stale:
		st.messages()
	}
	switch {
	case end.Kind == runs.Cancelled && !errors.Is(end.Err, runs.ErrTooLong):
		st.finished(frame{"type": "cancelled"})
	case end.Err != nil:
		return end.Err
	case end.Kind == runs.Denied:
		st.fail(&web.Problem{Code: session.Denied, Message: end.Reason})
	case failed != nil:
		st.fail(&web.Problem{Code: failed.ErrorCode, Message: failed.ErrorMessage})
	default:
		st.finish()
	}
	return st.err
}

// finish ends the stream of a run that has not failed: with the calls that wait for an answer, if there are.
func (st *stream) finish() {
	waiting, err := st.Waiting(st.ctx, st.app, st.key)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		st.broken(err)
		return
	}
	if waiting = sessions.Mine(st.ctx, st.key, waiting); len(waiting) == 0 { // the user goes on; others answer the rest
		st.finished(frame{"type": "success"})
		return
	}
	if st.begun {
		st.snapshots()
	}
	st.finished(frame{"type": "interrupt", "interrupts": interrupts(waiting)})
}

// finished tells that the run has ended, and how.
func (st *stream) finished(outcome frame) {
	st.send(frame{"type": "RUN_FINISHED", "threadId": st.key.ID, "runId": st.in.RunID, "outcome": outcome})
}

// interrupts returns what a client is told of the calls that wait.
func interrupts(waiting []sessions.WaitingCall) []frame {
	var list []frame
	for _, c := range waiting {
		f := frame{"id": c.ID, "toolCallId": c.ID, "reason": "input_required"}
		if message, ok := c.Args["message"].(string); ok {
			f["message"] = message
		}
		if schema, ok := c.Args["response_schema"].(map[string]any); ok {
			f["responseSchema"] = schema
		}
		if c.Confirm {
			f["reason"] = "tool_call"
			f["message"] = c.Hint
			f["responseSchema"] = frame{
				"type":       "object",
				"properties": frame{"approved": frame{"type": "boolean"}},
				"required":   []string{"approved"},
			}
		}
		if f["message"] == "" {
			delete(f, "message")
		}
		list = append(list, f)
	}
	return list
}

// fail ends the stream with an error. Nothing follows it.
func (st *stream) fail(p *web.Problem) {
	message := p.Message
	if message == "" {
		message = p.Code
	}
	st.send(frame{"type": "RUN_ERROR", "message": message, "code": p.Code})
}

// snapshots sends the session as it is: its state and its messages.
func (st *stream) snapshots() {
	s, err := st.app.Sessions().Get(st.ctx, st.key)
	if err == nil {
		st.sendState(s.State)
	}
	st.messages()
}

// messages sends the messages of the live view.
func (st *stream) messages() {
	live, err := st.Live(st.ctx, st.app, st.key)
	if err == nil || errors.Is(err, session.ErrNotFound) {
		st.send(frame{"type": "MESSAGES_SNAPSHOT", "messages": messagesOf(live)})
	}
}
