package sessiontest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// A lease runs out when its holder's process, or the store, stands still for a few seconds. On a busy machine
// that happens, and what the store does then is right. A case about leases that are held begins anew when it
// has failed and a lease may have run out meanwhile.

// attempts is how often a case about held leases is tried. A store that breaks the rule fails in each
// attempt.
var attempts = 6

// For how long a case holds leases, at most, where nothing stands still.
const (
	usual   = 2 * time.Second                     // less than a lease lasts
	longest = session.CancelGrace + 3*time.Second // of one in which a lease is taken away
)

// again is the value of a panic that ends an attempt which failed because a lease may have run out. It is the
// text of the failure.
type again string

// holding makes cases begin anew when a lease may have run out: when one was lost, or the case has taken
// longer than limit since it took the first one.
func holding(limit time.Duration, cases []testCase) []testCase {
	var list []testCase
	for _, c := range cases {
		c.Around = func(run func(*tester)) func(*tester) {
			return func(t *tester) { t.attempt(1, limit, run) }
		}
		list = append(list, c)
	}
	return list
}

// attempt runs a case for the nth time, and again in a subtest if it has to begin anew. The last attempt's
// failure counts, whatever the reason.
func (t *tester) attempt(n int, limit time.Duration, run func(*tester)) {
	t.Helper()
	if n == attempts {
		run(t)
		return
	}
	tb := t.TB
	t.TB = &excusing{TB: tb, ranOut: func() bool { return t.held.ranOut(limit) }, again: func(why string) { panic(again(why)) }}
	defer func() {
		t.TB = tb
		switch why := recover().(type) {
		case nil:
		case again:
			t.Logf("attempt %d failed, and the machine may have stood still meanwhile: %s", n, string(why))
			t.T.Run("again", func(sub *testing.T) { t.start(sub).attempt(n+1, limit, run) })
		default:
			panic(why)
		}
	}()
	run(t)
}

// late ends an attempt that took too long: the case begins anew, and fails if it is late each time.
func (t *tester) late(format string, args ...any) {
	t.Helper()
	if tb, ok := t.TB.(*excusing); ok {
		tb.again(fmt.Sprintf(format, args...))
	}
	t.Fatalf(format, args...)
}

// excusing calls again in place of Fatalf when a lease may have run out.
type excusing struct {
	contract.TB
	ranOut func() bool
	again  func(why string)
}

func (e *excusing) Fatalf(format string, args ...any) {
	e.Helper()
	if e.ranOut() {
		e.again(fmt.Sprintf(format, args...))
	}
	e.TB.Fatalf(format, args...)
}

// holds are the leases that a case has taken.
type holds struct {
	mu     sync.Mutex
	first  time.Time // when the first one was taken
	leases []*session.Lease
}

// Lease takes a lease with the case's service, and notes it.
func (t *tester) Lease(ctx context.Context, key session.Key, holder string) (*session.Lease, error) {
	return t.held.take(ctx, t.Service, key, holder)
}

// take takes a lease and notes it.
func (h *holds) take(ctx context.Context, svc session.Service, key session.Key, holder string) (*session.Lease, error) {
	lease, err := svc.Lease(ctx, key, holder)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.leases) == 0 {
		h.first = time.Now()
	}
	h.leases = append(h.leases, lease)
	return lease, nil
}

// ranOut reports whether a lease may have run out: one is lost, or is before long, or more time than limit
// has passed since the first one was taken. A process that stood still learns late that it has lost a
// lease, so ranOut waits for up to five seconds.
func (h *holds) ranOut(limit time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.leases) == 0 {
		return false
	}
	if time.Since(h.first) > limit {
		return true
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		for _, lease := range h.leases {
			if closed(lease.Lost) {
				return true
			}
		}
		if time.Now().After(end) {
			return false
		}
	}
}
