package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// settled is longer than a store needs to notice an append of another process.
const settled = 200 * time.Millisecond

// A follower collects what session.Follow yields.
type follower struct {
	*contract.Follower
	t *tester
}

// follow starts a follower of a session on a service.
func (t *tester) follow(svc session.Service, key session.Key, after int64) *follower {
	return &follower{Follower: contract.Follow(t, svc, key, after), t: t}
}

// has waits until the follower has so many events, and expects exactly those of the log that are behind the
// position where it began.
func (f *follower) has(log []*session.Event) {
	f.t.Helper()
	got := f.Await(f.t.Soon(), len(log))
	if len(got) < len(log) && closed(f.Done) {
		f.t.Fatalf("the follower ended after %d of %d events: %v", len(got), len(log), f.Err)
	}
	f.t.equal("what the follower saw", f.t.ids(got), f.t.ids(log))
}

// ended waits until the follower has ended, and returns its error.
func (f *follower) ended() error {
	f.t.Helper()
	f.t.closes(f.Done, "the follower ends")
	return f.Err
}

// watch makes a watch, which is stopped at the end of the case at the latest.
func (t *tester) watch(svc session.Service, key session.Key) *session.Watch {
	t.Helper()
	w, err := svc.Watch(t.Soon(), key)
	t.Must(err)
	t.Cleanup(w.Stop)
	return w
}

// tells expects that a watch tells a position before long, perhaps after others.
func (t *tester) tells(w *session.Watch, position int64) {
	t.Helper()
	soon := t.Soon()
	last := int64(0)
	for last != position {
		select {
		case next, ok := <-w.C:
			t.FailIf(!ok, "the watch ended at position %d, want %d", last, position)
			t.FailIf(next <= last, "the watch told position %d after %d", next, last)
			last = next
		case <-soon.Done():
			t.Fatalf("the watch told position %d last, want %d", last, position)
		}
	}
}

// ends expects that a watch's channel is closed before long.
func (t *tester) ends(w *session.Watch) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		for range w.C {
		}
		close(ended)
	}()
	t.closes(ended, "the watch ends")
}

// watchOnce makes a watch and stops it.
func watchOnce(ctx context.Context, svc session.Service, key session.Key) error {
	w, err := svc.Watch(ctx, key)
	if err == nil {
		w.Stop()
	}
	return err
}

var watchCases = []testCase{{
	Name: "watch/append",
	Rule: "A watch tells the position of the log's last event after each append, whichever process makes " +
		"it. Of positions that nobody took it keeps the latest. What is appended to another session it " +
		"does not tell.",
	On: func(t *tester, key session.Key) {
		t.put(key, say("before"))
		w := t.watch(t, key)
		t.put(key, say("a"))
		t.tells(w, 2)
		_, err := t.other.Append(t.Context(), session.AppendTarget{Key: key, After: 2}, say("b"), say("c"))
		t.Must(err)
		t.tells(w, 4)
		t.put(key, say("d"))
		t.put(key, say("e"))
		t.put(key, say("f"))
		time.Sleep(settled)
		select {
		case position := <-w.C:
			t.equal("position after three appends that nobody took", position, 7)
		default:
			t.Fatalf("the watch told nothing after three appends")
		}
		t.put(t.create("another"), says(20)...)
		_, err = t.Append(t.Context(), session.AppendTarget{Key: key, After: 6}, say("f")) // a repetition
		t.Must(err)
		time.Sleep(settled)
		select {
		case position := <-w.C:
			t.Fatalf("the watch told position %d, and nothing was appended", position)
		default:
		}
	},
}, {
	Name: "watch/stop",
	Rule: "After Stop a watch tells nothing more, and other watches of the session go on. Only the first " +
		"call of Stop counts.",
	On: func(t *tester, key session.Key) {
		one := t.watch(t, key)
		two := t.watch(t, key)
		one.Stop()
		one.Stop()
		t.put(key, say("a"))
		t.tells(two, 1)
		select {
		case position, ok := <-one.C:
			t.Fatalf("a watch that was stopped told position %d (%v)", position, ok)
		default:
		}
		two.Stop()
		t.put(key, say("b"))
		three := t.watch(t, key)
		t.put(key, say("c"))
		t.tells(three, 3)
	},
}, {
	Name: "watch/follow",
	Rule: "Several who follow a session, from wherever they begin, see each event behind that once, in the " +
		"order of the log and without a gap, while several processes append. They see each append without " +
		"the next one.",
	Run: func(t *tester) {
		const writers = 4
		const batches = 15
		key := t.create("s")
		t.put(key, says(10)...)
		var followers []*follower
		var from []int64
		follow := func(svc session.Service, after int64) {
			followers = append(followers, t.follow(svc, key, after))
			from = append(from, after)
		}
		for range 3 {
			follow(t, 0)
			follow(t.other, 7)
			follow(t.other, 20) // more than there is yet
		}

		// Append with both services at once, in batches of one to three events.
		var all sync.WaitGroup
		var errs []error
		all.Go(func() {
			errs = contract.AtOnce(writers, func(n int) error {
				svc := []session.Service{t, t.other}[n%2]
				var err error
				for i := range batches {
					var batch []*session.Event
					for j := range 1 + i%3 {
						batch = append(batch, say(fmt.Sprintf("%d/%d/%d", n, i, j)))
					}
					err = errors.Join(err, contract.Persist(t.Soon(), svc, key, batch...))
				}
				return err
			})
		})
		follow(t, 0) // begins in the middle of it
		all.Wait()
		t.Must(errors.Join(errs...))
		log := t.log(key)
		t.equal("length of the log", len(log), 10+writers*batches*2)
		for i, f := range followers {
			f.has(log[from[i]:])
		}

		// Append one event at a time, each after all have seen the one before: nobody may need the next
		// append to learn of this one.
		for range 3 {
			t.Must(contract.Persist(t.Soon(), t.other, key, say("one more")))
			log = t.log(key)
			for i, f := range followers {
				f.has(log[from[i]:])
			}
		}
	},
}, {
	Name: "watch/deleted",
	Rule: "When a session is deleted, by whichever process, its watches end and who follows it gets " +
		"ErrNotFound, also if a session is made under its key at once.",
	Run: func(t *tester) {
		for _, svc := range []session.Service{t, t.other} {
			key := t.create("s")
			t.put(key, says(3)...)
			w := t.watch(t, key)
			f := t.follow(t, key, 0)
			f.has(t.log(key))
			t.Must(svc.Delete(t.Context(), key))
			t.createKey(key, nil)
			t.ends(w)
			t.isKeyError(f.ended(), session.ErrNotFound, key)
			w.Stop()

			// Watches of the new session go on.
			next := t.watch(t, key)
			t.put(key, say("a"))
			t.tells(next, 1)
			t.Must(svc.Delete(t.Context(), key))
			t.ends(next)
		}
	},
}, {
	Name: "watch/replaced",
	Rule: "A watch, and who follows a session, reads that session only: when it is deleted and another one " +
		"is made under its key, with a longer log, they get ErrNotFound and none of the other's events.",
	Run: func(t *tester) {
		for _, svc := range []session.Service{t, t.other} {
			key := t.create("s")
			t.put(key, says(3)...)
			w := t.watch(t, key)
			var seen []*session.Event
			for e, err := range session.Follow(t.Soon(), t, key, 0) {
				if err != nil {
					t.isKeyError(err, session.ErrNotFound, key)
					break
				}
				seen = append(seen, e)
				if len(seen) == 3 {
					// The watch is told of one more event of the session, which is gone when it is read.
					t.put(key, say("the last one"))
					t.Must(svc.Delete(t.Context(), key))
					t.createKey(key, nil)
					t.put(key, say("n1"), say("n2"), say("n3"), say("n4"), say("n5"))
				}
			}
			t.equal("what the follower saw", t.ids(seen), []string{"1:m1", "2:m2", "3:m3"})
			for _, sel := range []session.Selection{{}, {Live: true}, {After: 3}, {Last: 1}} {
				t.isKeyError(firstError(t, w.Read(t.Context(), sel)), session.ErrNotFound, key)
			}
			next := t.watch(t, key)
			got := collect(t, next.Read(t.Context(), session.Selection{After: 3}))
			t.equal("what the next watch reads", t.ids(got), []string{"4:n4", "5:n5"})
			t.Must(t.Delete(t.Context(), key))
		}
	},
}, {
	Name: "watch/context",
	Rule: "Who follows a session gets the context's cause when that is done.",
	On: func(t *tester, key session.Key) {
		t.put(key, say("a"))
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the reader has gone")
		for e, err := range session.Follow(ctx, t, key, 0) {
			if e != nil {
				cancel(gone)
				continue
			}
			t.Is(err, gone)
		}
		t.FailIf(ctx.Err() == nil, "Follow yielded no event")
		cancel(nil)
	},
}, {
	Name: "watch/closed",
	Rule: "Close ends the watches, and who follows a session gets ErrClosed.",
	On: func(t *tester, key session.Key) {
		t.put(key, say("a"))
		w := t.watch(t, key)
		f := t.follow(t, key, 0)
		f.has(t.log(key))
		t.Must(t.Close())
		t.ends(w)
		t.Is(f.ended(), session.ErrClosed)
		w.Stop()
	},
}}
