package sessiontest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// closed reports whether a channel of a lease is closed by now.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closes expects that a channel is closed soon.
func (t *tester) closes(c <-chan struct{}, what string) {
	t.Helper()
	t.FailIf(!closesWithin(contract.Patience, c), "this did not happen: %s", what)
}

// closesWithin waits until a channel is closed, but not for longer than d. It reports whether it is.
func closesWithin(d time.Duration, c <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// tries is how often a case does again what takes the time it should only if the machine is not busy.
const tries = 20

// started begins something that may wait, and returns where its error comes.
func started(do func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	return ended
}

// cancels starts a call of Cancel on a service, and returns where its error comes.
func (t *tester) cancels(svc session.Service, key session.Key, holder string) <-chan error {
	ctx := t.Soon()
	return started(func() error { return svc.Cancel(ctx, key, holder) })
}

// cancelled takes a lease and has a service cancel it. It returns once the holder is asked to end, with where
// Cancel's error comes.
func (t *tester) cancelled(svc session.Service, key session.Key) (*session.Lease, <-chan error) {
	t.Helper()
	lease := t.holds(key, "run")
	done := t.cancels(svc, key, "run")
	t.closes(lease.Cancelled, "the holder is asked to end")
	return lease, done
}

var holderCases = []testCase{{
	Name: "holder/shown",
	Rule: "Get shows to every process who holds the session's lease, and nobody once it is given back. " +
		"List leaves it out.",
	On: func(t *tester, key session.Key) {
		shown := func(want string) {
			t.Helper()
			for _, svc := range []session.Service{t, t.other} {
				s, err := svc.Get(t.Context(), key)
				t.Must(err)
				t.equal("holder", s.Holder, want)
			}
		}
		shown("")
		lease := t.holds(key, "first 🦊")
		shown("first 🦊")
		for s, err := range t.List(t.Context(), t.App, "") {
			t.Must(err)
			t.equal("holder in the list", s.Holder, "")
		}
		lease.Release()
		shown("")
		lease = t.holds(key, "")
		shown("")
		lease.Release()
		t.holds(key, "second")
		shown("second")
	},
}, {
	Name: "holder/not usable",
	Rule: "A holder that is longer than 512 bytes, not UTF-8 or has a control character is ErrInvalid.",
	On: func(t *tester, key session.Key) {
		for _, holder := range []string{"a\x00b", "a\nb", "\xff", strings.Repeat("x", 513)} {
			_, err := t.Lease(t.Soon(), key, holder)
			t.Is(err, session.ErrInvalid)
			t.Is(t.Cancel(t.Soon(), key, holder), session.ErrInvalid)
		}
		t.holds(key, strings.Repeat("x", 512)).Release()
	},
}}

var cancelCases = []testCase{{
	Name: "cancel/asked",
	Rule: "Cancel asks the holder to end, at once in its process and soon from another one, and returns " +
		"when the lease is given back. Until then the lease is the holder's, who may append.",
	Run: func(t *tester) {
		// asked has a holder asked to end, once. It reports whether all of it took less than CancelGrace, and
		// what has to happen at once was done in time.
		asked := func(svc session.Service, atOnce time.Duration) bool {
			key := t.createKey(t.Key("ann", ""), nil)
			lease := t.holds(key, "run")
			defer lease.Release()
			t.FailIf(closed(lease.Cancelled), "the holder is asked to end before anybody wants that")
			began := time.Now()
			inTime := func() bool { return time.Since(began) < session.CancelGrace }
			done := t.cancels(svc, key, "run")
			soon := closesWithin(atOnce, lease.Cancelled)
			t.closes(lease.Cancelled, "the holder is asked to end")
			for _, id := range []string{"a", "b"} {
				_, err := t.Append(t.Context(), session.AppendTarget{Key: key, After: t.get(key).Position, Fence: lease.Fence}, say(id))
				if errors.Is(err, session.ErrFenced) && !inTime() {
					return false
				}
				t.Must(err)
			}
			returned := false
			select {
			case err := <-done:
				t.Must(err)
				returned = true
			case <-time.After(settled): // one that does not wait would have returned by now
			}
			lost := closed(lease.Lost)
			if !inTime() {
				return false
			}
			t.FailIf(returned, "Cancel returned while the lease is held")
			t.FailIf(lost, "the lease is lost before CancelGrace is over")
			lease.Release()
			t.Must(<-done)
			t.hasLog(key, "1:a", "2:b")
			return soon
		}
		for _, c := range []struct {
			svc    session.Service
			atOnce time.Duration
		}{{svc: t, atOnce: 500 * time.Millisecond}, {svc: t.other, atOnce: 3 * time.Second}} {
			n := 1
			for ; !asked(c.svc, c.atOnce); n++ {
				t.FailIf(n == tries, "not within %v in %d attempts: the holder is asked to end", c.atOnce, n)
			}
		}
	},
}, {
	Name: "cancel/another holder",
	Rule: "Cancel does nothing, and is no error, if the lease is another's or nobody's.",
	On: func(t *tester, key session.Key) {
		for _, svc := range []session.Service{t, t.other} {
			t.Must(svc.Cancel(t.Soon(), key, "run"))
			t.Must(svc.Cancel(t.Soon(), key, ""))
		}
		lease := t.holds(key, "run 2")
		for _, svc := range []session.Service{t, t.other} {
			for _, holder := range []string{"run", "run 22", "Run 2", ""} {
				t.Must(svc.Cancel(t.Soon(), key, holder))
			}
		}
		time.Sleep(1200 * time.Millisecond) // another process's request would be seen by now
		t.FailIf(closed(lease.Cancelled) || closed(lease.Lost),
			"a holder whom nobody named was asked to end, or lost the lease")
		t.Must(t.append(key, 0, lease.Fence, say("a")))
	},
}, {
	Name: "cancel/next lease",
	Rule: "A request to end is about one lease: the next one's holder is not asked, even under the same name.",
	On: func(t *tester, key session.Key) {
		for range 2 {
			lease, done := t.cancelled(t.other, key)
			lease.Release()
			next := t.holds(key, "run")
			t.Must(<-done)
			time.Sleep(1200 * time.Millisecond)
			t.FailIf(closed(next.Cancelled) || closed(next.Lost),
				"the next holder was asked to end, or lost the lease")
			next.Release()
		}
	},
}, {
	Name: "cancel/again",
	Rule: "Cancel may be called many times at once, and again when it is done.",
	On: func(t *tester, key session.Key) {
		lease := t.holds(key, "run")
		var cancels []<-chan error
		for i := range 8 {
			cancels = append(cancels, t.cancels([]session.Service{t, t.other}[i%2], key, "run"))
		}
		t.closes(lease.Cancelled, "the holder is asked to end")
		lease.Release()
		for _, done := range cancels {
			t.Must(<-done)
		}
		t.Must(t.Cancel(t.Soon(), key, "run"))
		t.Must(t.other.Cancel(t.Soon(), key, "run"))
		t.holds(key, "run")
	},
}, {
	Name: "cancel/taken away",
	Rule: "A holder who goes on for longer than CancelGrace loses the lease: Lost is closed, what it " +
		"appends is ErrFenced, and who waits has the lease. Its Release then takes nothing from them.",
	Run: func(t *tester) {
		type attempt struct {
			key   session.Key
			lease *session.Lease      // the holder's
			next  chan *session.Lease // of who waits for it
			done  <-chan error        // of Cancel
		}
		var attempts []attempt
		began := time.Now()
		for _, svc := range []session.Service{t, t.other} {
			a := attempt{key: t.createKey(t.Key("ann", ""), nil), next: make(chan *session.Lease, 1)}
			a.lease = t.holds(a.key, "run")
			ctx := t.Soon()
			go func() {
				next, _ := t.Lease(ctx, a.key, "next")
				a.next <- next
			}()
			a.done = t.cancels(svc, a.key, "run")
			attempts = append(attempts, a)
		}
		for _, a := range attempts {
			t.Must(<-a.done)
			if d := time.Since(began); d < session.CancelGrace {
				t.Fatalf("the lease was taken away after %v, before CancelGrace", d)
			}
			t.FailIf(!closed(a.lease.Cancelled),
				"the lease was taken away, and its holder was not asked to end")
			t.Is(t.append(a.key, 0, a.lease.Fence, say("x")), session.ErrFenced)
			t.closes(a.lease.Lost, "the holder learns that the lease is lost")
			next := <-a.next
			t.FailIf(next == nil, "who waits did not get the lease")
			t.FailIf(next.Fence <= a.lease.Fence, "fence %d follows %d", next.Fence, a.lease.Fence)
			a.lease.Release()
			t.Is(t.append(a.key, 0, a.lease.Fence, say("x")), session.ErrFenced)
			t.Must(t.append(a.key, 0, next.Fence, say("a")))
			next.Release()
			t.hasLog(a.key, "1:a")
		}
	},
}, {
	Name: "cancel/under a lost one's name",
	Rule: "Who has lost the lease, and has not released it yet, is not in the way of a Cancel of another " +
		"process's holder of the same name.",
	On: func(t *tester, key session.Key) {
		old := t.holds(key, "run")
		t.Must(t.other.Cancel(t.Soon(), key, "run")) // takes it away after CancelGrace
		t.closes(old.Lost, "the holder learns that the lease is lost")
		next, err := t.held.take(t.Soon(), t.other, key, "run")
		t.Must(err)
		defer next.Release()
		done := t.cancels(t, key, "run")
		t.closes(next.Cancelled, "the next holder is asked to end")
		next.Release()
		t.Must(<-done)
	},
}, {
	Name: "cancel/context",
	Rule: "A Cancel whose context ends while it waits returns its error. The holder stays asked to end, " +
		"and keeps the lease.",
	On: func(t *tester, key session.Key) {
		lease := t.holds(key, "run")
		for n := 1; ; n++ { // it may not come to ask in so short a time
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			err := t.other.Cancel(ctx, key, "run")
			cancel()
			t.Is(err, context.DeadlineExceeded)
			if closesWithin(3*time.Second, lease.Cancelled) {
				break
			}
			t.FailIf(n == tries, "in %d attempts the holder was not asked to end", n)
		}
		t.Must(t.append(key, 0, lease.Fence, say("a")))
	},
}, {
	Name: "cancel/deleted",
	Rule: "Cancel ends when the session is deleted.",
	On: func(t *tester, key session.Key) {
		lease, done := t.cancelled(t, key)
		t.Must(t.Delete(t.Context(), key))
		lease.Release()
		err := <-done
		if !errors.Is(err, session.ErrNotFound) { // the holder may know of it before the store is asked
			t.Must(err)
		}
	},
}, {
	Name: "cancel/closed",
	Rule: "Close ends a call of Cancel that waits, with ErrClosed.",
	On: func(t *tester, key session.Key) {
		_, done := t.cancelled(t, key)
		t.Must(t.Close())
		select {
		case err := <-done:
			if err != nil { // else Close gave the lease back before Cancel looked
				t.Is(err, session.ErrClosed)
			}
		case <-time.After(session.CancelGrace - time.Second):
			t.late("Cancel goes on after Close")
		}
	},
}}
