package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// BenchmarkFollow is the time from the beginning of an append until who follows the session has the event: with
// the store that appends, and with another one on the same database, as another process has it. In the last
// one that store watches 1,000 other sessions too.
func BenchmarkFollow(b *testing.B) {
	for _, where := range []string{"in one process", "across processes", "across processes, 1,000 watched"} {
		b.Run(where, func(b *testing.B) {
			url := pgtest.URL(b)
			s := open(b, url)
			k := newTalk(b, s, "s", nil)
			if where != "in one process" {
				s = open(b, url)
			}
			if where == "across processes, 1,000 watched" {
				for n := range 1000 {
					w, err := s.Watch(b.Context(), newTalk(b, s, fmt.Sprint(n), nil).at.Key)
					require.NoError(b, err)
					defer w.Stop()
				}
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			seen := make(chan time.Time)
			go func() {
				for e, err := range session.Follow(ctx, s, k.at.Key, 0) {
					if err != nil || e == nil {
						return
					}
					seen <- time.Now()
				}
			}()
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				k.append(b, said(len(took)))
				took = append(took, (<-seen).Sub(began))
				time.Sleep(
					time.Duration(len(took)%7) * time.Millisecond) // not in step with the looks
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/1e3, "seen-p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100])/1e3, "seen-p99-µs")
		})
	}
}

// BenchmarkWatched is an append to a session that 0, 1 and 100 watch, by turns.
func BenchmarkWatched(b *testing.B) {
	counts := []int{0, 1, 100}
	took := make([][]time.Duration, len(counts))
	var list []*talk
	for _, n := range counts {
		s := open(b, pgtest.URL(b))
		k := newTalk(b, s, "s", nil)
		for range n {
			w, err := s.Watch(b.Context(), k.at.Key)
			require.NoError(b, err)
			defer w.Stop()
		}
		list = append(list, k)
	}
	for n := 0; b.Loop(); n++ {
		for i, k := range list {
			began := time.Now()
			k.append(b, said(n))
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i, n := range counts {
		b.ReportMetric(float64(median(took[i]))/1e3, fmt.Sprint(n, "-p50-µs"))
	}
}
