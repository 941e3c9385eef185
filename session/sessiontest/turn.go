package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/plughook/plughook/session"
)

func (t *tester) turn(key session.Key) *session.Lease {
	t.Helper()
	turn, err := t.Lease(t.soon(), key)
	t.must(err)
	t.Cleanup(turn.Release)
	return turn
}

var turnCases = []testCase{
	{"turn/exclusive",
		"A session's turn is one caller's alone: what is appended within one is not interleaved with another's.",
		func(t *tester) {
			const callers, rounds, steps = 6, 4, 3
			key := t.create("s")
			var holders atomic.Int32
			var wg sync.WaitGroup
			errs := make([]error, callers)
			run := func(name string) error {
				turn, err := t.Lease(t.soon(), key)
				if err != nil {
					return err
				}
				defer turn.Release()
				if n := holders.Add(1); n != 1 {
					return fmt.Errorf("%d hold the turn", n)
				}
				defer holders.Add(-1)
				s, err := t.Get(t.soon(), key)
				if err != nil {
					return err
				}
				last := s.Position
				for range steps {
					runtime.Gosched() // to whoever may think that it is theirs
					e := session.Message("step")
					e.InvocationID = name
					if last, err = t.Append(t.soon(), session.At{Key: key, After: last, Fence: turn.Fence}, e); err != nil {
						return err
					}
				}
				return nil
			}
			start := make(chan struct{})
			for i := range callers {
				wg.Go(func() {
					<-start
					for j := range rounds {
						errs[i] = errors.Join(errs[i], run(fmt.Sprintf("%d of %d", j, i)))
					}
				})
			}
			close(start)
			wg.Wait()
			t.must(errors.Join(errs...))
			log := t.log(key)
			t.equal("length of the log", len(log), callers*rounds*steps)
			for i, e := range log {
				if e.InvocationID != log[i/steps*steps].InvocationID {
					t.Fatalf("event %d is of invocation %q, amid those of %q", e.Seq, e.InvocationID, log[i/steps*steps].InvocationID)
				}
			}
		}},
	{"turn/order",
		"Within a process turns are given in the order of arrival.",
		func(t *tester) {
			const waiters = 12
			key := t.create("s")
			first := t.turn(key)
			var mu sync.Mutex
			var order []int
			var errs []error
			var wg sync.WaitGroup
			for i := range waiters {
				ctx := &watched{Context: t.soon(), asked: make(chan struct{})}
				wg.Go(func() {
					turn, err := t.Lease(ctx, key)
					mu.Lock()
					order, errs = append(order, i), append(errs, err)
					mu.Unlock()
					if err == nil {
						turn.Release()
					}
				})
				select {
				case <-ctx.asked:
				case <-t.soon().Done():
					t.Fatalf("Turn waits without a look at its context")
				}
				for range 5 { // some time for the last steps before it waits, at the store's own pace
					t.get(key)
				}
			}
			first.Release()
			wg.Wait()
			t.must(errors.Join(errs...))
			late := 0 // pairs in the wrong order
			for i := range order {
				for j := range i {
					if order[j] > order[i] {
						late++
					}
				}
			}
			if late > waiters { // nobody sees when exactly they arrived; a queue without order has 33
				t.Fatalf("turns were given in the order %v", order)
			}
		}},
	{"turn/done context",
		"A Turn that waits ends with its context's error, and whoever waits behind it is not held up.",
		func(t *tester) {
			key := t.create("s")
			first := t.turn(key)
			ctx, cancel := context.WithCancel(t.Context())
			gaveUp, got := make(chan error, 3), make(chan error, 1)
			for range 3 {
				go func() {
					turn, err := t.Lease(ctx, key)
					if err == nil {
						turn.Release()
					}
					gaveUp <- err
				}()
			}
			go func() {
				turn, err := t.Lease(t.soon(), key)
				if err == nil {
					turn.Release()
				}
				got <- err
			}()
			cancel()
			for range 3 {
				select {
				case err := <-gaveUp:
					t.is(err, context.Canceled)
				case <-t.soon().Done():
					t.Fatalf("a Turn goes on waiting after its context was done")
				}
			}
			select {
			case err := <-got:
				t.Fatalf("a second turn was given, or refused (%v), while the first is held", err)
			default:
			}
			first.Release()
			t.must(<-got)
			_, err := t.Lease(ctx, key)
			t.is(err, context.Canceled)
			t.turn(key).Release()
		}},
	{"turn/outlives its context",
		"A turn is held until its release, not until the context it was taken with is done.",
		func(t *tester) {
			key := t.create("s")
			ctx, cancel := context.WithCancel(t.Context())
			turn, err := t.Lease(ctx, key)
			t.must(err)
			cancel()
			_, err = t.Append(t.Context(), session.At{Key: key}, say("x"))
			t.is(err, session.ErrFenced)
			_, err = t.Append(t.Context(), session.At{Key: key, Fence: turn.Fence}, say("a"))
			t.must(err)
			turn.Release()
			t.turn(key)
		}},
	{"turn/different sessions",
		"Turns on different sessions never wait for each other, nor do appends and reads for a turn.",
		func(t *tester) {
			key := t.create("s")
			first := t.turn(key)
			for _, other := range []session.Key{t.key("ann", "t"), t.key("bob", "s"), {App: t.app + "x", User: "ann", ID: "s"}} {
				t.createKey(other, nil)
				turn := t.turn(other)
				_, err := t.Append(t.soon(), session.At{Key: other, Fence: turn.Fence}, say("a"))
				t.must(err)
			}
			t.get(key)
			t.equal("log", t.ids(t.log(key)), nil)
			_, err := t.Append(t.soon(), session.At{Key: key, Fence: first.Fence}, say("a"))
			t.must(err)
			t.equal("log", t.ids(t.log(key)), []string{"1:a"})
		}},
	{"turn/release",
		"Release gives the turn back; only its first call counts, also when another has the turn by then.",
		func(t *tester) {
			key := t.create("s")
			one := t.turn(key)
			one.Release()
			one.Release()
			two := t.turn(key)
			one.Release()
			_, err := t.Append(t.Context(), session.At{Key: key, Fence: two.Fence}, say("a"))
			t.must(err)
			ctx, cancel := context.WithCancel(t.Context())
			waiting := make(chan error)
			go func() {
				turn, err := t.Lease(ctx, key)
				if err == nil {
					turn.Release()
				}
				waiting <- err
			}()
			for range 20 {
				t.get(key)
			}
			cancel()
			t.is(<-waiting, context.Canceled)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(two.Release)
			}
			wg.Wait()
			t.turn(key)
		}},
	{"turn/no session",
		"A turn on a session that is not there is ErrNotFound, also when it was deleted while waiting, and holds up nobody.",
		func(t *tester) {
			_, err := t.Lease(t.soon(), t.key("ann", "none"))
			t.isKeyError(err, session.ErrNotFound, t.key("ann", "none"))
			key := t.create("s")
			turn := t.turn(key)
			waiting := make(chan error)
			go func() {
				_, err := t.Lease(t.soon(), key)
				waiting <- err
			}()
			t.must(t.Delete(t.Context(), key))
			_, err = t.Append(t.Context(), session.At{Key: key, Fence: turn.Fence}, say("a"))
			t.is(err, session.ErrNotFound)
			turn.Release()
			t.is(<-waiting, session.ErrNotFound)
			t.createKey(key, nil)
			t.turn(key)
		}},
}

// watched is a context that tells when somebody begins to wait for it.
type watched struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func (w *watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.asked) })
	return w.Context.Done()
}
