package remote

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// An invocation keeps its process to the end, and the process stays for it.
func TestReloadKeepsInvocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		h := f.open(t, Config{})
		requireAnswer(t, h, plugin.BeforeRun, "old", "1")
		requireAnswer(t, h, plugin.BeforeRun, "older", "1")
		require.NoError(t, h.Reload(t.Context(), Config{SHA256: "new"}))
		require.Equal(t, "new", f.process(2).config.SHA256)
		require.Equal(t, 2, h.Health().Generation)
		require.Zero(t, h.Health().Restarts)
		requireAnswer(t, h, plugin.BeforeRun, "new", "2")
		time.Sleep(time.Minute)
		requireAnswer(t, h, plugin.OnEvent, "old", "1")
		requireAnswer(t, h, plugin.AfterRun, "old", "1")
		synctest.Wait()
		require.False(t, f.process(1).ended(), "one is left")
		requireAnswer(t, h, plugin.AfterRun, "older", "1")
		time.Sleep(time.Second)
		require.True(t, f.process(1).ended())
		requireAnswer(t, h, plugin.OnEvent, "new", "2")
		require.Contains(t, f.logged(), "plugin reloaded")
		f.done(t, h)
	})
}

// What is not known to have ended does not keep the old process for ever.
func TestReloadEndsTheOldProcessAfterATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		h := f.open(t, Config{})
		requireAnswer(t, h, plugin.BeforeRun, "old", "1")
		require.NoError(t, h.Reload(t.Context(), Config{}))
		time.Sleep(drainLimit - time.Second)
		require.False(t, f.process(1).ended())
		time.Sleep(2 * time.Second)
		require.True(t, f.process(1).ended())
		requireAnswer(t, h, plugin.AfterRun, "old", "2")
		f.done(t, h)
	})
}

// The old process ends by itself while it is needed: its invocations go on with the new one.
func TestTheOldProcessCrashesAfterReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		h := f.open(t, Config{})
		requireAnswer(t, h, plugin.BeforeRun, "old", "1")
		require.NoError(t, h.Reload(t.Context(), Config{}))
		f.process(1).die()
		synctest.Wait()
		requireAnswer(t, h, plugin.AfterRun, "old", "2")
		require.Equal(t, 2, f.starts())
		require.Equal(t, Ready, h.Health().State)
		f.done(t, h)
	})
}

func TestReloadThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		change func(p *plugin.Plugin)
		err    error
		want   string
	}{
		"it does not start":   {err: errBoom, want: "boom"},
		"fewer hooks":         {change: func(p *plugin.Plugin) { p.BeforeRun = nil }, want: errOther.Error()},
		"partials":            {change: func(p *plugin.Plugin) { p.Partials = true }, want: errOther.Error()},
		"it is an observer":   {change: func(p *plugin.Plugin) { p.Observer = true }, want: errOther.Error()},
		"in the background":   {change: func(p *plugin.Plugin) { p.Background = true }, want: errOther.Error()},
		"it is called others": {config: Config{Name: "other"}, want: `"other"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := numbered()
				was := f.plugin
				f.plugin = func(p *fakeProcess) *plugin.Plugin {
					q := was(p)
					if p.n == 2 && c.change != nil {
						c.change(q)
					}
					return q
				}
				f.start = func(_ context.Context, p *fakeProcess) error {
					if p.n == 2 {
						return c.err
					}
					return nil
				}
				h := f.open(t, Config{})
				err := h.Reload(t.Context(), c.config)
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, "guard")
				requireAnswer(t, h, plugin.OnEvent, "i", "1")
				require.Equal(t, 1, h.Health().Generation)
				require.True(t, f.process(2).ended())
				require.NoError(t, h.Reload(t.Context(), Config{}), "the next one may do")
				requireAnswer(t, h, plugin.OnEvent, "j", "3")
				f.done(t, h)
			})
		})
	}
}

// Reload while a replacement is starting: the reloaded process serves, the other is not wanted
// any more.
func TestReloadOvertakesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		f.start = func(ctx context.Context, p *fakeProcess) error {
			if p.n == 2 {
				time.Sleep(time.Minute)
			}
			return nil
		}
		h := f.open(t, Config{})
		f.process(1).die()
		synctest.Wait()
		require.NoError(t, h.Reload(t.Context(), Config{}))
		requireAnswer(t, h, plugin.OnEvent, "i", "3")
		time.Sleep(2 * time.Minute)
		require.True(t, f.process(2).ended())
		requireAnswer(t, h, plugin.OnEvent, "j", "3")
		f.done(t, h)
	})
}

func TestReloadWithAContextThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		f.start = func(ctx context.Context, p *fakeProcess) error {
			if p.n == 1 {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		h := f.open(t, Config{})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
		defer cancel()
		var reloads sync.WaitGroup
		for range 3 { // one starts, the others wait for it
			reloads.Go(func() {
				if err := h.Reload(ctx, Config{}); !errors.Is(err, errBoom) {
					t.Errorf("%v", err)
				}
			})
		}
		reloads.Wait()
		require.Equal(t, 2, f.starts())
		f.done(t, h)
	})
}

func TestClose(t *testing.T) {
	slow := func(d time.Duration) *fakeProcesses {
		return &fakeProcesses{plugin: func(p *fakeProcess) *plugin.Plugin {
			return pluginWith(
				func(context.Context, plugin.Hook, *session.Invocation) (plugin.Outcome, error) {
					select {
					case <-time.After(d):
					case <-p.ctx.Done():
					}
					return plugin.Outcome{Reason: "done"}, nil
				},
				allHooks...)
		}}
	}
	t.Run("waits for calls", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := slow(10 * time.Second)
			h := f.open(t, Config{Timeout: time.Minute})
			var call sync.WaitGroup
			call.Go(func() { requireAnswer(t, h, plugin.OnEvent, "i", "done") })
			synctest.Wait()
			var closed sync.WaitGroup
			closed.Go(func() { f.done(t, h) })
			synctest.Wait()
			_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
			require.ErrorIs(t, err, ErrClosed)
			require.ErrorContains(t, err, "guard")
			require.ErrorIs(t, h.Reload(t.Context(), Config{}), ErrClosed)
			closed.Wait()
			call.Wait()
			f.done(t, h)
		})
	})
	t.Run("as long as its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := slow(time.Hour)
			h := f.open(t, Config{Timeout: 2 * time.Hour})
			var call sync.WaitGroup
			call.Go(func() {
				_, err := fire(context.Background(), h.Plugin(), plugin.OnEvent, "i")
				if !errors.Is(err, ErrGone) {
					t.Errorf("%v is not ErrGone", err)
				}
			})
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			err := h.Plugin().Close(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "1 calls")
			require.Equal(t, time.Second, time.Since(began))
			require.Equal(t, err, h.Close(t.Context()), "again")
			call.Wait()
			require.True(t, f.process(1).ended())
		})
	})
	t.Run("while it starts again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := numbered()
			f.start = func(ctx context.Context, p *fakeProcess) error {
				if p.n == 1 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
			h := f.open(t, Config{Timeout: time.Minute})
			f.process(1).die()
			var call sync.WaitGroup
			call.Go(func() {
				_, err := fire(context.Background(), h.Plugin(), plugin.OnEvent, "i")
				if !errors.Is(err, ErrClosed) {
					t.Errorf("%v is not ErrClosed", err)
				}
			})
			synctest.Wait()
			began := time.Now()
			f.done(t, h)
			require.Zero(t, time.Since(began))
			call.Wait()
		})
	})
	for name, first := range map[string]bool{"a process ends before": true, "a process ends meanwhile": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := slow(10 * time.Second)
				f.start = func(ctx context.Context, p *fakeProcess) error {
					if p.n == 3 {
						time.Sleep(time.Second)
					}
					return nil
				}
				h := f.open(t, Config{Timeout: time.Minute})
				var work sync.WaitGroup
				work.Go(func() { requireAnswer(t, h, plugin.OnEvent, "i", "done") })
				synctest.Wait()
				require.NoError(t, h.Reload(t.Context(), Config{Timeout: time.Minute}))
				if first {
					f.process(2).die()
					synctest.Wait()
				}
				work.Go(func() { f.done(t, h) })
				synctest.Wait()
				if !first {
					f.process(2).die()
				}
				time.Sleep(5 * time.Second)
				require.Equal(t, Closed, h.Health().State)
				_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "j")
				require.ErrorIs(t, err, ErrClosed)
				if !first {
					require.Equal(t, 2, f.starts())
				}
				work.Wait()
			})
		})
	}
	t.Run("while it reloads, with a process that is frozen", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := numbered()
			f.start = func(ctx context.Context, p *fakeProcess) error {
				if p.n == 1 {
					return nil
				}
				<-ctx.Done()
				return context.Cause(ctx)
			}
			h := f.open(t, Config{})
			f.process(1).freeze()
			var reload sync.WaitGroup
			reload.Go(func() {
				if err := h.Reload(context.Background(), Config{}); !errors.Is(err, ErrClosed) {
					t.Errorf("%v is not ErrClosed", err)
				}
			})
			synctest.Wait()
			f.done(t, h)
			reload.Wait()
		})
	})
}

// Calls, crashes and reloads go on while it is closed: everything ends.
func TestCloseUnderLoad(t *testing.T) {
	for range 5 {
		synctest.Test(t, func(t *testing.T) {
			f := numbered()
			h := f.open(t, Config{})
			var load sync.WaitGroup
			for i := range 16 {
				load.Go(func() {
					for n := 0; ; n++ {
						_, err := fire(context.Background(), h.Plugin(), allHooks[n%4],
							strconv.Itoa(i+n/4))
						if errors.Is(err, ErrClosed) {
							return
						}
						if err != nil && !errors.Is(err, ErrGone) &&
							!errors.Is(err, ErrQuarantined) &&
							!errors.Is(err, plugin.ErrTimeout) {
							t.Errorf("%v", err)
						}
						time.Sleep(time.Millisecond)
					}
				})
			}
			load.Go(func() {
				for !errors.Is(h.Reload(context.Background(), Config{}), ErrClosed) {
					time.Sleep(7 * time.Millisecond)
				}
			})
			load.Go(func() {
				for h.Health().State != Closed {
					f.process(0).kill()
					time.Sleep(11 * time.Millisecond)
				}
			})
			time.Sleep(200 * time.Millisecond)
			f.done(t, h)
			load.Wait()
		})
	}
}

func TestAffinityIsBounded(t *testing.T) {
	var p processAffinity
	a, b := &generation{}, &generation{}
	for i := range 10 * maxAffinities {
		p.begin(strconv.Itoa(i), a)
		p.begin("often", a)
		require.LessOrEqual(t, a.invocations, 2*maxAffinities)
	}
	require.Equal(t, a, p.of("often"), "what is used is remembered")
	require.Equal(t, a, p.of(strconv.Itoa(10*maxAffinities-1)))
	require.Nil(t, p.of("0"))
	require.Nil(t, p.of(""))
	p.begin("", a)
	require.Nil(t, p.of(""))
	p.begin("often", b)
	require.Equal(t, 1, b.invocations)
	require.Equal(t, len(p.young)+len(p.old)-1, a.invocations)
	p.drop(a)
	require.Nil(t, p.of(strconv.Itoa(10*maxAffinities-1)))
	p.end("often")
	p.end("often")
	require.Zero(t, b.invocations)
	require.Empty(t, p.young)
	require.Empty(t, p.old)
}

// Whatever happens in whatever order: an invocation stays with a process that lives, nobody hears
// of one that was replaced, and in the end nothing is left.
func TestInvariantsHoldInAnyOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rapid.SyncTest(r, func(r *rapid.T) {
			f := numbered()
			refuse := false
			f.start = func(context.Context, *fakeProcess) error {
				if refuse {
					return errBoom
				}
				return nil
			}
			h := f.open(r, Config{})
			began := map[string]int{} // the process of an invocation
			ids := rapid.SampledFrom([]string{"a", "b", "c", "d"})
			r.Repeat(map[string]func(*rapid.T){
				"call": func(r *rapid.T) {
					id, hook := ids.Draw(r, "invocation"), rapid.SampledFrom(allHooks).
						Draw(r, "hook")
					was := began[id]
					lives := was != 0 && f.process(was).ctx.Err() == nil
					out, err := fire(context.Background(), h.Plugin(), hook, id)
					synctest.Wait()
					if err != nil {
						require.ErrorIs(r, err, ErrQuarantined)
						require.Equal(r, Quarantined, h.Health().State)
						return
					}
					n, _ := strconv.Atoi(out.Reason)
					if lives {
						require.Equal(r, was, n, "its process lives")
					} else {
						require.Equal(r, h.Health().PID, 1000+n)
					}
					if began[id] = n; hook == plugin.AfterRun {
						delete(began, id)
					}
				},
				"crash": func(r *rapid.T) {
					p := f.process(rapid.IntRange(1, f.starts()).Draw(r, "process"))
					if p.conn == nil || p.ctx.Err() != nil {
						r.Skip("it has ended")
					}
					p.die()
					time.Sleep(time.Second)
				},
				"reload": func(r *rapid.T) {
					n := h.Health().Generation
					refuse = rapid.Bool().Draw(r, "refuse")
					err := h.Reload(context.Background(), Config{})
					require.Equal(r, refuse, err != nil)
					if refuse = false; err == nil {
						n++
						require.Equal(r, Ready, h.Health().State)
					}
					require.Equal(r, n, h.Health().Generation)
				},
				"wait": func(r *rapid.T) {
					time.Sleep(
						time.Duration(rapid.IntRange(1, 200).Draw(r, "seconds")) * time.Second)
				},
				"": func(r *rapid.T) {
					synctest.Wait()
					alive := 0
					f.mu.Lock()
					for _, p := range f.all {
						if !p.stopped {
							alive++
						}
					}
					f.mu.Unlock()
					h.mu.Lock()
					defer h.mu.Unlock()
					require.LessOrEqual(r, len(h.generations), alive)
					counted := 0
					for g := range h.generations {
						counted += g.invocations
					}
					require.Equal(r, len(h.invocations.young)+len(h.invocations.old), counted)
				},
			})
			f.done(r, h)
		})
	})
}
