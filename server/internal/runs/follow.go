package runs

import (
	"context"
	"io"
	"time"

	"github.com/plughook/plughook/session"
)

// A Follower reads what happens, from one goroutine: the events of the log behind a position, in the order of
// the log, each once and without a gap; and partial events, if the run is one of this process.
//
// The position is that of the log: session.Event.Seq of the last whole event that was read. Partial events
// have none. Whoever comes back follows again from the last position, and misses nothing; of an event that
// was under way then, the text so far comes again as partial events, or the whole event.
//
// The end is io.EOF. A RunFollower and an InvocationFollower end when the run has ended; a SessionFollower
// does not, before the session is deleted.
//
// How a client of each surface says its position, and what it is told again:
//
//	v1        the ids of its frames are positions; Last-Event-ID and ?after= say the last one
//	agui      a stream of a run that another request has begun shows the session as it is; only what is not in
//	          that follows
//	uistream  the message that is being made comes again from its beginning
//	a2a       a subscription begins with the task as it is; only what is not in that follows
//	kit       a run cannot be followed again, and its frames have no ids, because the kit's client for JavaScript
//	          skips a frame with an id; the client reads the session
//
// So a stream that shows an event twice, or misses one, has its cause here if v1 shows it too, else in the
// surface.
type Follower interface {
	// Next returns the next event; partial events of one answer that came since the last call are one. It
	// waits for it, but not longer than idle: then it returns nil without an error, so that the caller can
	// show that the connection lives. It returns io.EOF at the end, and the context's cause when that is
	// done.
	Next(ctx context.Context, idle time.Duration) (*session.Event, error)
	// Close ends the reading.
	Close()
}

// Nothing is a Follower of nothing: it is at its end, or at once has the error.
type Nothing struct{ Err error }

// Next returns the error, or io.EOF.
func (n Nothing) Next(context.Context, time.Duration) (*session.Event, error) {
	if n.Err != nil {
		return nil, n.Err
	}
	return nil, io.EOF
}

// Close does nothing.
func (n Nothing) Close() {}

// An InvocationFollower is a Follower of an invocation that may be run by another process.
type InvocationFollower struct {
	*SessionFollower
	invocation string
}

// FollowInvocation returns a Follower of the events of an invocation behind a position. It ends when the
// invocation does not run any more.
func (r *Runs) FollowInvocation(
	ctx context.Context, sessions session.Service, key session.Key, invocation string, after int64,
) (*InvocationFollower, error) {
	f, err := r.FollowSession(ctx, sessions, key, after)
	if err != nil {
		return nil, err
	}
	f.Running = func(running string, _ *Run) error {
		if running != invocation {
			return io.EOF
		}
		return nil
	}
	return &InvocationFollower{SessionFollower: f, invocation: invocation}, nil
}

// Next is that of a Follower.
func (f *InvocationFollower) Next(ctx context.Context, idle time.Duration) (*session.Event, error) {
	e, err := f.SessionFollower.Next(ctx, idle)
	for err == nil && e != nil && e.InvocationID != f.invocation {
		e, err = f.SessionFollower.Next(ctx, idle)
	}
	return e, err
}
