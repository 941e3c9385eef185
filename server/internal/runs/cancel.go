package runs

import (
	"context"
	"time"

	"github.com/plughook/plughook/session"
)

// Cancel cancels an invocation on a session, in whatever process it runs, and waits until it has ended. It
// returns the run if that is one of this process. It is no error if the invocation does not run.
func (r *Runs) Cancel(
	ctx context.Context, sessions session.Service, key session.Key, invocation string) (*Run, error,
) {
	run := r.Find(key, invocation)
	if run == nil {
		return nil, sessions.Cancel(ctx, key, invocation)
	}
	waited := !r.has(run)
	run.Cancel(nil)
	grace := time.NewTimer(session.CancelGrace)
	defer grace.Stop()
	select {
	case <-run.Done():
		if !waited {
			return run, nil
		}
		return run, sessions.Cancel(ctx, key, invocation) // another process may run its input
	case <-ctx.Done():
		return run, context.Cause(ctx)
	case <-grace.C:
		// It does not end by itself: the store takes its lease away, so that it can append no more.
		return run, sessions.Cancel(ctx, key, invocation)
	}
}

// CancelAll cancels the runs of this process on the sessions that are chosen, those that wait for their turn,
// too. It waits until they have ended, but not longer than session.CancelGrace.
func (r *Runs) CancelAll(ctx context.Context, chosen func(session.Key) bool) {
	var all []*Run
	r.mu.Lock()
	for key, on := range r.sessions {
		if chosen(key) {
			all = append(all, on.all...)
		}
	}
	r.mu.Unlock()
	for _, run := range all {
		run.Cancel(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, session.CancelGrace)
	defer cancel()
	for _, run := range all {
		select {
		case <-run.Done():
		case <-ctx.Done():
			return
		}
	}
}

// CancelLater is Cancel for a caller who does not wait for the end. However often it is called, one goroutine
// waits for each invocation, and Close for these.
func (r *Runs) CancelLater(sessions session.Service, key session.Key, invocation string) {
	run := r.Find(key, invocation)
	if run != nil {
		run.Cancel(nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := invocationKey{session: key, invocation: invocation}
	_, waits := r.cancels[of]
	if r.closed || waits {
		return
	}
	r.cancels[of] = struct{}{}
	r.active.Go(func() {
		if _, err := r.Cancel(r.life, sessions, key, invocation); err != nil {
			r.log.Warn("an invocation was not cancelled", "session", key, "invocation", invocation,
				"error", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.cancels, of)
	})
}
