package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/plughook/plughook/session"
)

// lease takes a lease, which is released at the end of the case at the latest.
func (t *tester) lease(key session.Key) *session.Lease {
	t.Helper()
	return t.holds(key, "")
}

// holds takes a lease as holder, which is released at the end of the case at the latest.
func (t *tester) holds(key session.Key, holder string) *session.Lease {
	t.Helper()
	lease, err := t.Lease(t.Soon(), key, holder)
	t.Must(err)
	t.Cleanup(lease.Release)
	return lease
}

// waits starts a call of Lease, whose error is sent. A lease that it gets is released at once.
func (t *tester) waits(ctx context.Context, key session.Key) <-chan error {
	return started(func() error {
		lease, err := t.Lease(ctx, key, "")
		if err == nil {
			lease.Release()
		}
		return err
	})
}

var leaseCases = []testCase{{
	Name: "lease/exclusive",
	Rule: "A session's lease is one caller's alone: what is appended within one is not interleaved with " +
		"another's.",
	Run: func(t *tester) {
		const callers = 6
		const rounds = 4
		const steps = 3
		key := t.create("s")
		var holders atomic.Int32
		run := func(name string) error {
			lease, err := t.Lease(t.Soon(), key, "")
			if err != nil {
				return err
			}
			defer lease.Release()
			if n := holders.Add(1); n != 1 {
				return fmt.Errorf("%d hold the lease", n)
			}
			defer holders.Add(-1)
			s, err := t.Get(t.Soon(), key)
			if err != nil {
				return err
			}
			last := s.Position
			for range steps {
				runtime.Gosched() // to whoever may think that it is theirs
				e := session.Message("step")
				e.InvocationID = name
				at := session.AppendTarget{Key: key, After: last, Fence: lease.Fence}
				last, err = t.Append(t.Soon(), at, e)
				if err != nil {
					return err
				}
			}
			return nil
		}
		t.AtOnce(callers, func(i int) error {
			var err error
			for j := range rounds {
				err = errors.Join(err, run(fmt.Sprintf("%d of %d", j, i)))
			}
			return err
		})
		log := t.log(key)
		t.equal("length of the log", len(log), callers*rounds*steps)
		for i, e := range log {
			if e.InvocationID != log[i/steps*steps].InvocationID {
				t.Fatalf("event %d is of invocation %q, amid those of %q", e.Seq,
					e.InvocationID, log[i/steps*steps].InvocationID)
			}
		}
	},
}, {
	Name: "lease/order",
	Rule: "Within a process leases are given in the order of arrival.",
	Run: func(t *tester) {
		const waiters = 12
		key := t.create("s")
		first := t.lease(key)
		var mu sync.Mutex
		var order []int
		var errs []error
		var wg sync.WaitGroup
		for i := range waiters {
			ctx := &watched{Context: t.Soon(), asked: make(chan struct{})}
			wg.Go(func() {
				lease, err := t.Lease(ctx, key, "")
				mu.Lock()
				order = append(order, i)
				errs = append(errs, err)
				mu.Unlock()
				if err == nil {
					lease.Release()
				}
			})
			t.closes(ctx.asked, "Lease, which waits, looks at its context")
			for range 5 { // some time for the last steps before it waits, at the store's own pace
				t.get(key)
			}
		}
		first.Release()
		wg.Wait()
		t.Must(errors.Join(errs...))
		late := 0 // pairs in the wrong order
		for i := range order {
			for j := range i {
				if order[j] > order[i] {
					late++
				}
			}
		}
		if late > waiters { // nobody sees when exactly they arrived; a queue without order has 33
			t.late("leases were given in the order %v", order)
		}
	},
}, {
	Name: "lease/done context",
	Rule: "A call of Lease that waits ends with its context's error, and whoever waits behind it is not " +
		"held up.",
	On: func(t *tester, key session.Key) {
		first := t.lease(key)
		ctx, cancel := context.WithCancel(t.Context())
		var gaveUp []<-chan error
		for range 3 {
			gaveUp = append(gaveUp, t.waits(ctx, key))
		}
		got := t.waits(t.Soon(), key)
		cancel()
		for _, ended := range gaveUp {
			select {
			case err := <-ended:
				t.Is(err, context.Canceled)
			case <-t.Soon().Done():
				t.Fatalf("a Lease goes on waiting after its context was done")
			}
		}
		select {
		case err := <-got:
			t.Fatalf("a second lease was given, or refused (%v), while the first is held", err)
		default:
		}
		first.Release()
		t.Must(<-got)
		_, err := t.Lease(ctx, key, "")
		t.Is(err, context.Canceled)
		t.lease(key).Release()
	},
}, {
	Name: "lease/outlives its context",
	Rule: "A lease is held until its release, not until the context it was taken with is done.",
	On: func(t *tester, key session.Key) {
		ctx, cancel := context.WithCancel(t.Context())
		lease, err := t.Lease(ctx, key, "")
		t.Must(err)
		cancel()
		t.Is(t.append(key, 0, 0, say("x")), session.ErrFenced)
		t.Must(t.append(key, 0, lease.Fence, say("a")))
		lease.Release()
		t.lease(key)
	},
}, {
	Name: "lease/different sessions",
	Rule: "Leases on different sessions never wait for each other, nor do appends and reads for a lease.",
	On: func(t *tester, key session.Key) {
		first := t.lease(key)
		for _, other := range []session.Key{
			t.Key("ann", "t"), t.Key("bob", "s"), {App: t.App + "x", User: "ann", ID: "s"},
		} {
			t.createKey(other, nil)
			lease := t.lease(other)
			t.Must(t.append(other, 0, lease.Fence, say("a")))
		}
		t.get(key)
		t.hasLog(key)
		t.Must(t.append(key, 0, first.Fence, say("a")))
		t.hasLog(key, "1:a")
	},
}, {
	Name: "lease/release",
	Rule: "Release gives the lease back; only its first call counts, also when another has the lease by " +
		"then.",
	On: func(t *tester, key session.Key) {
		one := t.lease(key)
		one.Release()
		one.Release()
		two := t.lease(key)
		one.Release()
		t.Must(t.append(key, 0, two.Fence, say("a")))
		ctx, cancel := context.WithCancel(t.Context())
		waiting := t.waits(ctx, key)
		for range 20 {
			t.get(key)
		}
		cancel()
		t.Is(<-waiting, context.Canceled)
		t.AtOnce(8, func(int) error {
			two.Release()
			return nil
		})
		t.lease(key)
	},
}, {
	Name: "lease/no session",
	Rule: "A lease on a session that is not there is ErrNotFound, also when it was deleted while waiting, " +
		"and holds up nobody.",
	Run: func(t *tester) {
		_, err := t.Lease(t.Soon(), t.Key("ann", "none"), "")
		t.isKeyError(err, session.ErrNotFound, t.Key("ann", "none"))
		key := t.create("s")
		lease := t.lease(key)
		waiting := t.waits(t.Soon(), key)
		t.Must(t.Delete(t.Context(), key))
		t.Is(t.append(key, 0, lease.Fence, say("a")), session.ErrNotFound)
		lease.Release()
		t.Is(<-waiting, session.ErrNotFound)
		t.createKey(key, nil)
		t.lease(key)
	},
}, {
	Name: "fence/grows",
	Rule: "A lease's fence is positive and greater than that of every lease on the session before.",
	On: func(t *tester, key session.Key) {
		var fences []int64
		for range 5 {
			lease := t.lease(key)
			fences = append(fences, lease.Fence)
			lease.Release()
		}
		t.FailIf(fences[0] < 1 || !slices.IsSorted(fences) || len(slices.Compact(slices.Clone(fences))) != 5,
			"fences are %v", fences)
	},
}, {
	Name: "fence/held",
	Rule: "While somebody holds a lease, an append without its fence is ErrFenced, says which fences, and " +
		"appends nothing; that goes before ErrConflict.",
	On: func(t *tester, key session.Key) {
		t.put(key, says(2)...)
		old := t.lease(key)
		old.Release()
		lease := t.lease(key)
		for _, fence := range []int64{0, old.Fence, lease.Fence + 1, -1} {
			for _, after := range []int64{2, 0} {
				t.isPosition(t.append(key, after, fence, say("x")), session.ErrFenced, key, fence, lease.Fence)
			}
		}
		t.isPosition(t.append(key, 0, lease.Fence, say("x")), session.ErrConflict, key, 0, 2)
		t.Must(t.append(key, 2, lease.Fence, say("a")))
		t.hasLog(key, "1:m1", "2:m2", "3:a")
	},
}, {
	Name: "fence/released",
	Rule: "After its release a lease's fence is good for nothing; an append without a fence is welcome " +
		"again.",
	On: func(t *tester, key session.Key) {
		lease := t.lease(key)
		lease.Release()
		t.Is(t.append(key, 0, lease.Fence, say("x")), session.ErrFenced)
		t.put(key, say("a"))
		t.Is(t.append(key, 1, lease.Fence+1, say("x")), session.ErrFenced)
		t.hasLog(key, "1:a")
	},
}, {
	Name: "fence/create again",
	Rule: "The fence of a deleted session's lease is good for nothing in a session that is created again " +
		"under its key.",
	On: func(t *tester, key session.Key) {
		old := t.lease(key)
		t.Must(t.Delete(t.Context(), key))
		t.createKey(key, nil)
		t.Is(t.append(key, 0, old.Fence, say("x")), session.ErrFenced)
		old.Release()
		lease := t.lease(key)
		t.Is(t.append(key, 0, old.Fence, say("x")), session.ErrFenced)
		old.Release()
		t.Must(t.append(key, 0, lease.Fence, say("a")))
		t.hasLog(key, "1:a")
	},
}}

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
