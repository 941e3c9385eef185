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
	rounds(t, 3, func() int {
		s, keys := begin(t, open, where, 3)
		shut(t, s)
		workers := startAll(t, 4, task{Where: where, Keys: keys, Do: appends})
		killAll(workers, func() {})

		// All acknowledged appends are in the log. So they are after the others, whose outcome is not known,
		// were made once more.
		s = reopen(t, open, where)
		h := newHistory(t, s, workers)
		acked := len(h.acked)
		h.fence(keys)
		h.check(keys)
		h.again()
		h.check(keys)
		shut(t, s)
		return acked
	})
}

// Leases lets 8 processes append under leases on 8 sessions and stops some of them (SIGSTOP) for stop,
// which is longer than a lease outlives its holder; once, see contract.Times. Who was stopped for so long
// can append no more under the lease that it had.
func Leases(t *testing.T, open Open, where string, stop time.Duration) {
	t.Helper()
	notShort(t)
	s, keys := begin(t, open, where, 8)
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
	rounds(t, 1, func() int {
		s, keys := begin(t, open, where, 7)
		meet := keys[0]
		keys = keys[1:]
		workers := startAll(t, 4, task{Where: where, Keys: keys, Do: counts, Meet: meet, All: 4})
		for _, w := range workers {
			w.wait() // it ends by itself
		}
		h := newHistory(t, s, workers)
		if h.added != bound {
			t.Errorf("the processes were told that they added %d, want the bound %d", h.added, bound)
		}
		events := 0
		for _, key := range keys {
			m, err := s.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			events += int(m.Position)
			for k, want := range map[string]int{"app:spent": bound, "app:appends": h.counted} {
				if n, _ := m.State[k].(float64); n != float64(want) {
					t.Errorf("%s is %v, want %d", k, m.State[k], want)
				}
			}
		}
		if events != 2*h.counted {
			t.Errorf("the logs have %d events, want two for each of %d appends", events, h.counted)
		}
		shut(t, s)
		return h.counted
	})
}

// rounds makes an attack in n rounds (see contract.Times). The attack returns how much was appended.
func rounds(t *testing.T, n int, attack func() int) {
	t.Helper()
	notShort(t)
	appended := 0
	for round := range contract.Times(n) {
		appended += attack()
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d appended", appended)
	if appended == 0 {
		t.Error("nothing was appended")
	}
}

// begin opens the store and makes n sessions of n users of a new app.
func begin(t *testing.T, open Open, where string, n int) (s session.Service, keys []session.Key) {
	t.Helper()
	s = reopen(t, open, where)
	app := "soak " + session.NewID()
	for i := range n {
		key := session.Key{App: app, User: fmt.Sprint("user", i)}
		m, err := s.Create(t.Context(), key, map[string]any{"begun": i})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, m.Key)
	}
	return s, keys
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

// killAll kills the workers one after the other, at random moments. It calls killed after each.
func killAll(workers []*worker, killed func()) {
	for n, w := range workers {
		if n > 0 { // the first may be killed while it opens the store
			<-w.begun
		}
		if n == len(workers)-1 { // so that something is appended before the kill, on a slow machine too
			<-w.acked
		}
		time.Sleep(20*time.Millisecond + rand.N(120*time.Millisecond))
		w.signal(syscall.SIGKILL)
		killed()
	}
	for _, w := range workers {
		w.wait()
	}
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
