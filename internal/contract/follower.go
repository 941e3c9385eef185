package contract

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

// A Follower collects what session.Follow yields.
type Follower struct {
	// Done is closed when the follower has ended. Err then says how.
	Done chan struct{}
	Err  error

	mu     sync.Mutex
	events []*session.Event
}

// Follow starts a follower of a session, behind a position. It ends with the test at the latest.
func Follow(t TB, svc session.Service, key session.Key, after int64) *Follower {
	ctx, stop := context.WithCancel(t.Context())
	f := &Follower{Done: make(chan struct{})}
	go func() {
		defer close(f.Done)
		for e, err := range session.Follow(ctx, svc, key, after) {
			if err != nil {
				f.Err = err
				return
			}
			f.mu.Lock()
			f.events = append(f.events, e)
			f.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		stop()
		<-f.Done
	})
	return f
}

// Await waits until the follower has n events, or has ended, or ctx is done. It returns the events so far.
func (f *Follower) Await(ctx context.Context, n int) []*session.Event {
	for last := false; ; {
		f.mu.Lock()
		events := slices.Clone(f.events)
		f.mu.Unlock()
		if len(events) >= n || last {
			return events
		}
		select {
		case <-f.Done:
			last = true
		case <-ctx.Done():
			last = true
		case <-time.After(time.Millisecond):
		}
	}
}
