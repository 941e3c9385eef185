package sqlite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// BenchmarkFollow is the time from the beginning of an append until who follows the session has the event: with
// the store that appends, and with another one on the same file, as another process has it.
func BenchmarkFollow(b *testing.B) {
	for _, where := range []string{"in one process", "across processes"} {
		b.Run(where, func(b *testing.B) {
			s := openTest(b)
			a := newAppender(b, s, nil)
			if where == "across processes" {
				s = another(b, s)
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			seen := make(chan time.Time)
			go func() {
				for e, err := range session.Follow(ctx, s, a.at.Key, 0) {
					if err != nil || e == nil {
						return
					}
					seen <- time.Now()
				}
			}()
			var t times
			for b.Loop() {
				began := time.Now()
				a.append(b, event1K())
				t = append(t, (<-seen).Sub(began))
				time.Sleep(time.Duration(len(t)%7) * time.Millisecond) // not in step with the looks
			}
			slices.Sort(t)
			report(b, "seen", t.p50())
			b.ReportMetric(float64(t[len(t)*99/100])/float64(time.Microsecond), "seen-p99-µs")
		})
	}
}

// BenchmarkWatched is an append to a session that 0, 1 and 100 watch, by turns.
func BenchmarkWatched(b *testing.B) {
	counts := []int{0, 1, 100}
	took := make([]times, len(counts))
	var list []*appender
	for _, n := range counts {
		a := newAppender(b, openTest(b), nil)
		for range n {
			w, err := a.Watch(b.Context(), a.at.Key)
			require.NoError(b, err)
			defer w.Stop()
		}
		list = append(list, a)
	}
	for b.Loop() {
		for i, a := range list {
			e := event1K()
			now := time.Now()
			a.append(b, e)
			took[i].add(now)
		}
	}
	for i, n := range counts {
		report(b, fmt.Sprint(n), took[i].p50())
	}
}

// BenchmarkLook is one look at 1,000 watched sessions: when nothing has changed in the file, and when one session
// has.
func BenchmarkLook(b *testing.B) {
	s := openTest(b)
	known := map[int64]int64{}
	var last *appender
	for range 1000 {
		last = newAppender(b, s, nil)
		r, err := find(s.writer.c, last.at.Key)
		require.NoError(b, err)
		known[r.sid] = 0
	}
	var idle, changed times
	for b.Loop() {
		last.append(b, event1K())
		now := time.Now()
		s.poll(b.Context(), &store.Poll[int64]{Known: known})
		changed.add(now)
		now = time.Now()
		s.poll(b.Context(), &store.Poll[int64]{Known: known})
		idle.add(now)
	}
	report(b, "changed", changed.p50())
	report(b, "idle", idle.p50())
}
