//go:build unix

package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plughook/plughook/internal/contract"
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
				f := contract.Follow(t, s, key, after)
				followers = append(followers, &follower{Follower: f, key: key, after: after})
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
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, f := range followers {
			f.Await(soon, len(logs[f.key])-int(f.after))
		}
		time.Sleep(200 * time.Millisecond) // for what they see and should not
		for _, f := range followers {
			seen += f.check(t, logs[f.key])
		}
		shut(t, s)
		for _, f := range followers {
			<-f.Done
			if !errors.Is(f.Err, session.ErrClosed) {
				t.Errorf("%s: a follower of a store that is closed got %v", f.key, f.Err)
			}
		}
		return seen
	})
}

// follower follows a session behind a position.
type follower struct {
	*contract.Follower
	key   session.Key
	after int64
}

// check compares what the follower has seen with the log behind its beginning. It returns how many events
// that are.
func (f *follower) check(t *testing.T, log []*session.Event) int {
	t.Helper()
	if f.after > int64(len(log)) {
		return 0
	}
	log = log[f.after:]
	got := f.Await(t.Context(), 0)
	if len(got) != len(log) {
		t.Errorf("%s: a follower saw %d events behind %d, and the log has %d",
			f.key, len(got), f.after, len(log))
		return 0
	}
	for i, e := range log {
		if got[i].ID != e.ID || got[i].Seq != e.Seq {
			t.Errorf("%s: a follower saw %d:%s, and the log has %d:%s",
				f.key, got[i].Seq, got[i].ID, e.Seq, e.ID)
			return 0
		}
	}
	return len(log)
}
