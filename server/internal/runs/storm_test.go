package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

// TestWhatFollowersSeeInAStorm has clients start, join, cancel, interrupt and roll back runs on a few
// sessions, and leave. Each follower sees each event once, in order, and no text twice; in the end nothing is
// counted as waiting.
func TestWhatFollowersSeeInAStorm(t *testing.T) {
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			var svc session.Service = memory.New()
			if kind == "sqlite" {
				var err error
				svc, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
				require.NoError(t, err)
			}
			a := agent.New(
				"h",
				"h",
				func(ctx context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
					return func(yield func(*session.Event, error) bool) {
						for range 1 + rand.N(4) {
							id := session.NewID()
							for range rand.N(5) {
								e := session.Reply("ab")
								e.ID = id
								e.Partial = true
								if !yield(e, nil) {
									return
								}
								if rand.N(3) == 0 {
									select {
									case <-time.After(time.Millisecond):
									case <-ctx.Done():
										yield(nil, context.Cause(ctx))
										return
									}
								}
							}
							e := session.Reply("whole")
							e.ID = id
							if !yield(e, nil) {
								return
							}
						}
					}
				},
			)
			r, err := runner.New(
				runner.Options{Agent: a, Sessions: svc, Plugins: []*plugin.Plugin{rewind.New(svc)}})
			require.NoError(t, err)
			rs := New(limits.New(limits.Limits{Waiting: 50, UserRuns: 50, Run: 10 * time.Minute},
				slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
			ctx, cancel := context.WithCancel(t.Context())
			var wg, fw sync.WaitGroup
			counts := map[string]int{}
			var mu sync.Mutex
			seen := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return counts["run events"] > 0 && counts["session events"] > 0
			}
			count := func(s string) { mu.Lock(); counts[s]++; mu.Unlock() }
			key := func() session.Key { return session.Key{App: "a", User: "u", ID: fmt.Sprint("s", rand.N(3))} }
			for i := range 3 {
				_, err := svc.Create(ctx, session.Key{App: "a", User: "u", ID: fmt.Sprint("s", i)},
					nil)
				require.NoError(t, err)
			}
			check := func(what string, next func(ctx context.Context, idle time.Duration) (*session.Event, error), after int64, dense bool) {
				whole := map[string]bool{}
				for {
					e, err := next(ctx, time.Second)
					if err == io.EOF || errors.Is(err, context.Canceled) || ctx.Err() != nil {
						return
					}
					if !assert.NoError(t, err, what) {
						return
					}
					if e == nil {
						continue
					}
					if e.Partial {
						if whole[e.ID] {
							t.Errorf("%s: a partial event after its whole one", what)
						}
						continue
					}
					whole[e.ID] = true
					if e.Seq <= after || dense && e.Seq != after+1 {
						t.Errorf("%s: event %d after %d", what, e.Seq, after)
					}
					after = e.Seq
					count(what + " events")
					if rand.N(60) == 0 {
						return
					}
				}
			}
			for range 6 {
				wg.Go(func() {
					for ctx.Err() == nil {
						in := session.Message("hello")
						in.ID = fmt.Sprint("i", rand.N(1000000000))
						if rand.N(4) == 0 {
							in.ID = fmt.Sprint("i", rand.N(10))
						}
						busy := []Busy{Wait, Wait, Wait, Reject, Interrupt, Rollback}[rand.N(6)]
						q := Request{
							Runner:       r,
							Key:          key(),
							Input:        in,
							Busy:         busy,
							User:         "u",
							LeaveCancels: rand.N(3) == 0,
							Config:       session.RunConfig{Streaming: session.SSE},
						}
						run, f, err := rs.Start(ctx, q, 0)
						if err != nil {
							continue // busy, or the rollback was cancelled by another one
						}
						switch rand.N(4) {
						case 0:
							f.Close()
						case 1:
							rs.CancelLater(svc, q.Key, run.Invocation)
							f.Close()
						default:
							fw.Go(func() { check("run", f.Next, 0, false); f.Close() })
						}
						if rand.N(3) > 0 {
							select {
							case <-run.Done():
							case <-ctx.Done():
							}
						}
					}
				})
			}
			for range 6 {
				fw.Go(func() {
					for ctx.Err() == nil {
						k := key()
						s, err := svc.Get(ctx, k)
						if err != nil {
							return
						}
						after := max(0, s.Position-rand.N(int64(10)))
						f, err := rs.FollowSession(ctx, svc, k, after)
						if err != nil {
							return
						}
						check("session", f.Next, after, true)
						f.Close()
					}
				})
			}
			// The storm lasts until each kind of follower has seen something.
			for began := time.Now(); time.Since(began) < 1500*time.Millisecond || !seen() && time.Since(began) < time.Minute; {
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
			wg.Wait()
			fw.Wait()
			late, c2 := context.WithTimeout(context.Background(), time.Minute)
			rs.Close(late)
			c2()
			var metrics bytes.Buffer
			require.NoError(t, rs.budget.WriteMetrics(&metrics))
			for _, nothing := range []string{"held_bytes", "runs_waiting", "user_runs_max"} {
				require.Contains(t, metrics.String(), "plughook_"+nothing+" 0\n")
			}
			require.Empty(t, rs.sessions)
			require.Empty(t, rs.followers)
			require.NoError(t, r.Close(context.Background()))
			require.NoError(t, svc.Close())
			require.NotZero(t, counts["run events"])
			require.NotZero(t, counts["session events"])
		})
	}
}
