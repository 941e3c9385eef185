//go:build unix

package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plughook/plughook/session"
)

// Follow follows sessions while processes that append to them are killed (SIGKILL) at random moments, in 2
// rounds (see contract.Times). Each follower sees exactly the log, in its order, wherever it began.
func Follow(t *testing.T, open Open, where string) {
	t.Helper()
	rounds(t, 2, func() (seen int) {
		s, keys := begin(t, open, where, 3)
		var followers []*follower
		follow := func(after int64) {
			for _, key := range keys {
				followers = append(followers, startFollower(s, key, after))
			}
		}
		follow(0)
		follow(0)

		// Kill each of the processes, and begin to follow in between.
		workers := startAll(t, 4, task{Where: where, Keys: keys, Do: appends})
		killAll(workers, func() { follow(int64(rand.N(40))) })

		// The log is what was appended, and what each follower saw.
		h := newHistory(t, s, workers)
		h.fence(keys)
		h.check(keys)
		logs := map[session.Key][]*session.Event{}
		for _, key := range keys {
			logs[key] = h.read(key, session.Selection{})
		}
		for _, f := range followers {
			f.wait(int64(len(logs[f.key])))
		}
		time.Sleep(200 * time.Millisecond) // for what they see and should not
		for _, f := range followers {
			seen += f.check(t, logs[f.key])
		}
		shut(t, s)
		for _, f := range followers {
			<-f.done
			if !errors.Is(f.err, session.ErrClosed) {
				t.Errorf("%s: a follower of a store that is closed got %v", f.key, f.err)
			}
		}
		return seen
	})
}

// follower is one goroutine that follows a session.
type follower struct {
	key   session.Key
	after int64
	count atomic.Int64
	done  chan struct{} // closed when it has ended
	log   []*session.Event
	err   error // how it ended
}

func startFollower(s session.Service, key session.Key, after int64) *follower {
	f := &follower{
		key:   key,
		after: after,
		done:  make(chan struct{}),
	}
	go func() {
		defer close(f.done)
		for e, err := range session.Follow(context.Background(), s, key, after) {
			if err != nil {
				f.err = err
				return
			}
			f.log = append(f.log, e)
			f.count.Add(1)
		}
	}()
	return f
}

// wait waits for a while until the follower has seen the event at a position.
func (f *follower) wait(position int64) {
	for end := time.Now().Add(time.Minute); f.after+f.count.Load() < position && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// check compares what the follower has seen with the log behind its beginning. It returns how many events
// that are.
func (f *follower) check(t *testing.T, log []*session.Event) int {
	t.Helper()
	if f.after > int64(len(log)) {
		return 0
	}
	log = log[f.after:]
	if n := f.count.Load(); n != int64(len(log)) {
		t.Errorf("%s: a follower saw %d events behind %d, and the log has %d", f.key, n, f.after, len(log))
		return 0
	}
	for i, e := range log {
		if f.log[i].ID != e.ID || f.log[i].Seq != e.Seq {
			t.Errorf("%s: a follower saw %d:%s, and the log has %d:%s", f.key, f.log[i].Seq, f.log[i].ID, e.Seq, e.ID)
			return 0
		}
	}
	return len(log)
}
