package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/session"
)

// errClosing ends a stream when the server is shut down.
var errClosing = &Problem{Status: http.StatusServiceUnavailable, Code: "closing", Message: "the server is shutting down", RetryAfter: 2}

// ErrLeft says that the client has left, or is too slow.
var ErrLeft = errors.New("the client has left")

// OpenStream begins an answer of server-sent events. The context is done when the client leaves or the
// server shuts down: its cause is a *Problem then. done must be called at the end.
func (c *Core) OpenStream(w http.ResponseWriter, r *http.Request) (ctx context.Context, s *sse.Stream, done func(), err error) {
	user := CallerOf(r).User
	c.mu.Lock()
	full := c.Settings.Streams > 0 && c.open >= c.Settings.Streams ||
		c.Settings.UserStreams > 0 && user != "" && c.streams[user] >= c.Settings.UserStreams
	if !full {
		c.open++
		c.streams[user]++
	}
	c.mu.Unlock()
	if full {
		return nil, nil, nil, &Problem{Status: http.StatusTooManyRequests, Code: "too_many_streams", Message: "too many streams are open already", RetryAfter: 5}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(c.life, func() { cancel(errClosing) })
	done = func() {
		stop()
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
		if c.streams[user]--; c.streams[user] == 0 {
			delete(c.streams, user)
		}
	}
	return ctx, sse.Begin(w, c.Settings.Patience, c.Settings.Retry), done, nil
}

// A Source is what a stream is made of: a *runs.Follower or a *runs.SessionFollower.
type Source interface {
	Next(ctx context.Context, idle time.Duration) (*session.Event, error)
}

// errRevoked ends a stream whose caller is let in no more.
var errRevoked = &Problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "what let the stream's client in is valid no more"}

// An Admission is that of a stream's caller, who may be let in no more while the stream is open. It
// is used from one goroutine.
type Admission struct {
	still func() bool // nil: always
	every time.Duration
	asked time.Time
}

// Admission returns that of the caller whose request has the context.
func (c *Core) Admission(ctx context.Context) *Admission {
	who, _ := ctx.Value(callerKey{}).(Caller)
	return &Admission{still: who.Still, every: c.Settings.Heartbeat, asked: time.Now()}
}

// Check returns an error, a *Problem, if the caller is let in no more. It asks at most once in each
// Settings.Heartbeat, and a stream calls it at least as often.
func (a *Admission) Check() error {
	if a.still == nil || time.Since(a.asked) < a.every {
		return nil
	}
	a.asked = time.Now()
	if !a.still() {
		return errRevoked
	}
	return nil
}

// left returns how long it is until the next time to ask, or to show that the stream lives.
func (a *Admission) left() time.Duration {
	if a.still == nil {
		return a.every
	}
	return max(a.every-time.Since(a.asked), time.Millisecond)
}

// Pump calls send for each event of a source, until that ends: it returns nil at io.EOF, ErrLeft if the
// client has left, a *Problem if they are let in no more, else what the source or send returned. In silence it
// sends heartbeats.
func (c *Core) Pump(ctx context.Context, s *sse.Stream, from Source, send func(*session.Event) error) error {
	may := c.Admission(ctx)
	idle := time.Duration(0) // what is there already goes out together with the header
	for {
		e, err := from.Next(ctx, idle)
		if revoked := may.Check(); revoked != nil {
			return revoked
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
		case e == nil:
			err = s.Heartbeat()
		default:
			err = send(e)
		}
		if err != nil {
			return err
		}
		idle = may.left()
	}
}

// Early is how long an answer waits for a run's first event, so that a run that fails at once is answered
// with a status of its own.
const Early = 50 * time.Millisecond

// Wait waits for a run to begin, for at most Early. It returns the run's error if it has failed by then
// without an event.
func Wait(ctx context.Context, run *runs.Run) error {
	if run.Began() {
		return nil
	}
	early := time.NewTimer(Early)
	defer early.Stop()
	select {
	case <-run.Begun():
	case <-run.Done():
	case <-early.C:
	case <-ctx.Done():
	}
	if end := run.End(); end.Err != nil && !run.Began() {
		return end.Err
	}
	return nil
}

// After returns the position that a client has read to: the header Last-Event-ID, or else the parameter
// "after", or else 0.
func After(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	where := "the header Last-Event-ID"
	if text == "" {
		text = r.URL.Query().Get("after")
		where = "the parameter after"
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, Bad(where + " is not a position: it is a whole number, 0 or more")
	}
	return n, nil
}
