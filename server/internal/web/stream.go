package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/session"
)

// errClosing ends a stream when the server is shut down.
var errClosing = NewProblem(http.StatusServiceUnavailable, "closing",
	"the server is shutting down").RetryIn(2)

// retry is how long a client is told to wait before it comes back.
const retry = 2 * time.Second

// ErrLeft says that the client has left, or is too slow.
var ErrLeft = errors.New("the client has left")

// Frames write what a stream tells, in the form of one protocol. Begin and End may be nil.
type Frames struct {
	From  runs.Follower              // reads what is told
	Begin func() error               // before the first event
	Event func(*session.Event) error // for each event, partial or whole
	End   func() error               // when what is followed has ended
	// Broken tells why the stream ends before that: an error of the others, of the reading, or a *Problem if
	// the client is let in no more or the server is shut down. It is not called for a client that has left.
	Broken func(error)
}

// Stream answers with a stream of server-sent events: what a follower reads, in the frames of a protocol. It
// returns an error only if there is no stream, because too many are open; open is not called then.
func (c *Core) Stream(
	w http.ResponseWriter, r *http.Request, open func(context.Context, *sse.Stream) Frames,
) error {
	ctx, out, done, err := c.openStream(w, r)
	if err != nil {
		return err
	}
	defer done()
	frames := open(ctx, out)
	if frames.Begin != nil {
		err = frames.Begin()
	}
	if err == nil {
		err = c.pump(ctx, out, frames.From, frames.Event)
	}
	if err == nil && frames.End != nil {
		err = frames.End()
	}
	if err != nil && !errors.Is(err, ErrLeft) {
		frames.Broken(err)
	}
	_ = out.Write() // whoever has left is not told
	return nil
}

// openStream begins an answer of server-sent events. The context is done when the client leaves or the
// server shuts down: its cause is a *Problem then. done must be called at the end.
func (c *Core) openStream(
	w http.ResponseWriter, r *http.Request) (ctx context.Context, s *sse.Stream, done func(), err error,
) {
	hold, err := c.Budget.Stream(CallerOf(r).Budget())
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(c.life, func() { cancel(errClosing) })
	done = func() {
		stop()
		cancel(nil)
		hold.Release()
	}
	return ctx, sse.Begin(w, retry), done, nil
}

// errRevoked ends a stream whose caller is let in no more.
var errRevoked = NewProblem(http.StatusUnauthorized, "unauthorized", "the token with which this "+
	"stream was opened is no longer valid: open it again with a valid one")

// pump calls send for each event of a follower, until that ends: it returns nil at io.EOF, ErrLeft if the
// client has left, a *Problem if they are let in no more, else what the follower or send returned. In each
// Limits.Heartbeat it asks whether they are let in; in silence it sends heartbeats.
func (c *Core) pump(
	ctx context.Context, s *sse.Stream, from runs.Follower, send func(*session.Event) error,
) error {
	who := ctx.Value(callerKey{}).(admitted)
	asked := time.Now()
	idle := time.Duration(0) // what is there already goes out together, at first with the header
	for {
		e, err := from.Next(ctx, idle)
		if time.Since(asked) >= c.Limits.Heartbeat {
			asked = time.Now()
			if !who.still() {
				return errRevoked
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil && ctx.Err() != nil:
			var p *Problem
			if errors.As(context.Cause(ctx), &p) {
				return p
			}
			return ErrLeft
		case err != nil:
			return err
		case e == nil && idle == 0:
			err = s.Flush()
			idle = max(c.Limits.Heartbeat-time.Since(asked), time.Millisecond)
		case e == nil:
			err = s.Heartbeat()
			idle = max(c.Limits.Heartbeat-time.Since(asked), time.Millisecond)
		default:
			err = who.hold.Writing(ctx, e, func() error { return send(e) })
			idle = 0
		}
		if err != nil {
			return err
		}
	}
}

// early is how long an answer waits for a run's first event, so that a run that fails at once is answered
// with a status of its own.
const early = 50 * time.Millisecond

// WaitForBegin waits for a run to begin, for at most early. It returns the run's error if it has failed by
// then without an event.
func WaitForBegin(ctx context.Context, run *runs.Run) error {
	if run.Began() {
		return nil
	}
	timer := time.NewTimer(early)
	defer timer.Stop()
	select {
	case <-run.Begun():
	case <-run.Done():
	case <-timer.C:
	case <-ctx.Done():
	}
	if end := run.End(); end.Err != nil && !run.Began() {
		return end.Err
	}
	return nil
}

// WaitForEnd waits for the end of a run. It returns ErrLeft if the context is done before that; the run goes
// on then.
func WaitForEnd(ctx context.Context, run *runs.Run) error {
	select {
	case <-run.Done():
		return nil
	case <-ctx.Done():
		return ErrLeft
	}
}
