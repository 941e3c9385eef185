//go:build unix

package soak

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/plughook/plughook/session"
)

// Kill kills processes that append (SIGKILL) at random moments, 20 times over or as often as the
// environment's PLUGHOOK_SOAK_ROUNDS says, and checks after each time that the store has all that was
// acknowledged, and nothing by halves.
func Kill(t *testing.T, open Open, where string) {
	t.Helper()
	notShort(t)
	acks, events := 0, 0
	for round := range rounds(20) {
		s := reopen(t, open, where)
		keys := create(t, s, fmt.Sprintf("kill %d %s", round, session.NewID()), 3)
		shut(t, s)
		var workers []*worker
		for p := range 4 {
			workers = append(workers, start(t, task{Name: fmt.Sprintf("p%d", p), Where: where, Keys: keys}))
		}
		for _, w := range workers {
			time.Sleep(30*time.Millisecond + rand.N(120*time.Millisecond))
			w.signal(syscall.SIGKILL)
		}
		for _, w := range workers {
			w.wait()
		}
		s = reopen(t, open, where)
		h := newHistory(t, s, workers)
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
		t.Error("nothing was appended before the kill: the machine is too slow for this test")
	}
}

// Turns lets 8 processes take turns on 8 sessions and stops some (SIGSTOP) for stop, which is longer
// than a turn outlives its holder, 2 times over or as often as PLUGHOOK_SOAK_ROUNDS says.
func Turns(t *testing.T, open Open, where string, stop time.Duration) {
	t.Helper()
	notShort(t)
	s := reopen(t, open, where)
	keys := create(t, s, "turns "+session.NewID(), 8)
	var workers []*worker
	for p := range 8 {
		workers = append(workers, start(t, task{Name: fmt.Sprintf("p%d", p), Where: where, Keys: keys, Turns: true}))
	}
	for range rounds(2) {
		time.Sleep(500*time.Millisecond + rand.N(500*time.Millisecond))
		stopped := rand.Perm(len(workers))[:3]
		for _, i := range stopped {
			workers[i].signal(syscall.SIGSTOP)
		}
		time.Sleep(stop)
		for _, i := range stopped {
			workers[i].signal(syscall.SIGCONT)
		}
	}
	time.Sleep(500 * time.Millisecond)
	for _, w := range workers {
		w.end()
	}
	h := newHistory(t, s, workers)
	h.check(keys)
	t.Logf("%d batches acknowledged, %d events, %d turns lost", len(h.acked), h.events, h.lost)
	shut(t, s)
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
