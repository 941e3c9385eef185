//go:build unix

package soak

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// Kill kills processes that append (SIGKILL) at random moments, in 3 rounds (see contract.Times), and checks
// after each round that the store has all that was acknowledged, and nothing by halves.
func Kill(t *testing.T, open Open, where string) {
	t.Helper()
	notShort(t)
	acks := 0
	events := 0
	for round := range contract.Times(3) {
		s := reopen(t, open, where)
		keys := create(t, s, fmt.Sprintf("kill %d %s", round, session.NewID()), 3)
		shut(t, s)
		workers := startAll(t, 4, task{Where: where, Keys: keys, Do: appends})
		for n, w := range workers {
			if n > 0 { // the first may be killed while it opens the store
				<-w.begun
			}
			if n == len(workers)-1 { // so that something is appended before the kill, on a slow machine too
				<-w.acked
			}
			time.Sleep(20*time.Millisecond + rand.N(100*time.Millisecond))
			w.signal(syscall.SIGKILL)
		}
		for _, w := range workers {
			w.wait()
		}
		s = reopen(t, open, where)
		h := newHistory(t, s, workers)
		h.fence(keys)
		h.check(keys)
		acks += len(h.acked)
		h.again()
		h.check(keys)
		events += h.events
		shut(t, s)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d batches acknowledged, %d events", acks, events)
	if acks == 0 {
		t.Error("nothing was appended before the kill")
	}
}

// Leases lets 8 processes append under leases on 8 sessions and stops some of them (SIGSTOP) for stop,
// which is longer than a lease outlives its holder; once, see contract.Times. Who was stopped for so long
// can append no more under the lease that it had.
func Leases(t *testing.T, open Open, where string, stop time.Duration) {
	t.Helper()
	notShort(t)
	s := reopen(t, open, where)
	keys := create(t, s, "leases "+session.NewID(), 8)
	workers := startAll(t, 8, task{Where: where, Keys: keys, Do: leases})
	for _, w := range workers {
		<-w.begun
	}
	for range contract.Times(1) {
		time.Sleep(200*time.Millisecond + rand.N(300*time.Millisecond))
		stopped := rand.Perm(len(workers))[:3]
		for _, i := range stopped {
			workers[i].signal(syscall.SIGSTOP)
		}
		time.Sleep(stop)
		for _, i := range stopped {
			workers[i].signal(syscall.SIGCONT)
		}
	}
	time.Sleep(300 * time.Millisecond)
	for _, w := range workers {
		w.end()
	}
	h := newHistory(t, s, workers)
	h.check(keys)
	t.Logf("%d batches acknowledged, %d events, %d leases lost", len(h.acked), h.events, h.lost)
	shut(t, s)
}

// Bound lets 4 processes add to one counter that has an upper bound, each until it is refused; once, see
// contract.Times. What they added together is exactly the bound, and a refused append leaves nothing behind.
func Bound(t *testing.T, open Open, where string) {
	t.Helper()
	notShort(t)
	for range contract.Times(1) {
		s := reopen(t, open, where)
		keys := create(t, s, "bound "+session.NewID(), 7)
		meet := keys[0]
		keys = keys[1:]
		workers := startAll(t, 4, task{Where: where, Keys: keys, Do: counts, Meet: meet, All: 4})
		appended := 0
		added := 0
		for n, w := range workers {
			w.wait() // it ends by itself
			mine := 0
			for _, r := range w.reports {
				if r.Error != "" {
					t.Errorf("a worker failed: %s", r.Error)
				}
				if r.Added > 0 {
					mine++
					added += r.Added
				}
			}
			appended += mine
			t.Logf("process %d: %d appends", n, mine)
		}
		if added != bound {
			t.Errorf("the processes were told that they added %d, want the bound %d", added, bound)
		}
		events := int64(0)
		for _, key := range keys {
			m, err := s.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			events += m.Position
			if spent, _ := m.State["app:spent"].(float64); spent != bound {
				t.Errorf("app:spent is %v, want the bound %d", m.State["app:spent"], bound)
			}
			if n, _ := m.State["app:appends"].(float64); n != float64(appended) {
				t.Errorf("app:appends is %v, want one for each of %d appends", m.State["app:appends"], appended)
			}
		}
		if events != 2*int64(appended) {
			t.Errorf("the logs have %d events, want two for each of %d appends", events, appended)
		}
		shut(t, s)
	}
}

// startAll starts n workers with one task.
func startAll(t *testing.T, n int, do task) []*worker {
	t.Helper()
	var workers []*worker
	for p := range n {
		do.Name = fmt.Sprint("p", p)
		workers = append(workers, start(t, do))
	}
	return workers
}

func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("processes that are killed and stopped take a while: run without -short")
	}
}

func reopen(t *testing.T, open Open, where string) session.Service {
	t.Helper()
	s, err := open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shut(t *testing.T, s session.Service) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
