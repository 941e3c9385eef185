package remote

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// numbered returns processes whose plugin answers with the number of its process as the reason.
func numbered() *fakeProcesses {
	return &fakeProcesses{plugin: func(p *fakeProcess) *plugin.Plugin {
		return pluginWith(
			func(context.Context, plugin.Hook, *session.Invocation) (plugin.Outcome, error) {
				return plugin.Outcome{Reason: strconv.Itoa(p.n)}, nil
			},
			allHooks...)
	}}
}

func requireAnswer(t testing.TB, h *Host, hook plugin.Hook, id, reason string) {
	t.Helper()
	out, err := fire(context.Background(), h.Plugin(), hook, id)
	require.NoError(t, err)
	require.Equal(t, reason, out.Reason)
}

func TestTimeouts(t *testing.T) {
	hang := func(background, observer bool) *fakeProcesses {
		return &fakeProcesses{plugin: func(p *fakeProcess) *plugin.Plugin {
			q := pluginWith(
				func(context.Context, plugin.Hook, *session.Invocation) (plugin.Outcome, error) {
					<-p.ctx.Done()
					return plugin.Outcome{}, nil
				},
				allHooks...)
			q.Background, q.Observer = background, observer
			return q
		}}
	}
	for name, c := range map[string]struct {
		config     Config
		hook       plugin.Hook
		background bool
		want       time.Duration
	}{
		"the default":               {hook: plugin.OnEvent, want: 250 * time.Millisecond},
		"AfterRun":                  {hook: plugin.AfterRun, want: 250 * time.Millisecond},
		"AfterRun in background":    {hook: plugin.AfterRun, background: true, want: time.Minute},
		"other hooks of such":       {hook: plugin.BeforeRun, background: true, want: 250 * time.Millisecond},
		"configured":                {config: Config{Timeout: time.Second}, hook: plugin.BeforeModel, want: time.Second},
		"configured for background": {config: Config{Timeout: time.Second, BackgroundTimeout: time.Hour}, hook: plugin.AfterRun, background: true, want: time.Hour},
		"configured for the hook":   {config: Config{Timeout: time.Second, Timeouts: map[plugin.Hook]time.Duration{plugin.BeforeModel: 3 * time.Second}}, hook: plugin.BeforeModel, want: 3 * time.Second},
		"configured for another":    {config: Config{Timeouts: map[plugin.Hook]time.Duration{plugin.BeforeModel: 3 * time.Second}}, hook: plugin.OnEvent, want: 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := hang(c.background, false)
				h := f.open(t, c.config)
				began := time.Now()
				_, err := fire(t.Context(), h.Plugin(), c.hook, "i")
				require.ErrorIs(t, err, plugin.ErrTimeout)
				require.ErrorContains(t, err, c.want.String())
				require.Equal(t, c.want, time.Since(began))
				f.done(t, h)
			})
		})
	}
}

// A caller that leaves gets its own reason, and that is nobody's failure.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProcesses{plugin: func(p *fakeProcess) *plugin.Plugin {
			return pluginWith(
				func(ctx context.Context, _ plugin.Hook, _ *session.Invocation) (plugin.Outcome, error) {
					<-ctx.Done()
					return plugin.Outcome{}, ctx.Err()
				},
				allHooks...)
		}}
		h := f.open(t, Config{})
		for range 2 * breakerRow {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Millisecond, func() { cancel(errBoom) })
			_, err := fire(ctx, h.Plugin(), plugin.OnEvent, "i")
			require.ErrorIs(t, err, errBoom)
			require.NotErrorIs(t, err, plugin.ErrTimeout)
		}
		s := h.Health()
		require.EqualValues(t, 2*breakerRow, s.Calls)
		require.Zero(t, s.Failures)
		require.Empty(t, s.LastError)
		f.done(t, h)
	})
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		f.start = func(_ context.Context, p *fakeProcess) error {
			if p.n > 1 {
				time.Sleep(time.Second)
			}
			return nil
		}
		h := f.open(t, Config{SHA256: "abc"})
		began := time.Now()
		requireAnswer(t, h, plugin.OnEvent, "i", "1")
		require.Equal(
			t,
			Health{
				State:      Ready,
				Since:      began,
				Generation: 1,
				PID:        1001,
				Calls:      1,
				Version:    "1.0.1",
				Digest:     "abc",
			},
			h.Health(),
		)
		time.Sleep(time.Second)
		f.process(1).die()
		synctest.Wait()
		s := h.Health()
		require.Contains(t, s.LastError, "remote: the plugin is gone")
		s.LastError = ""
		require.Equal(
			t,
			Health{
				State:      Restarting,
				Since:      began.Add(time.Second),
				Generation: 1,
				Calls:      1,
				Version:    "1.0.1",
				Digest:     "abc",
			},
			s,
		)
		_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
		require.ErrorIs(t, err, plugin.ErrTimeout)
		require.ErrorContains(t, err, "starting again")
		time.Sleep(time.Second)
		s = h.Health()
		require.Contains(t, s.LastError, "starting again")
		s.LastError = ""
		require.Equal(
			t,
			Health{
				State:      Ready,
				Since:      began.Add(2 * time.Second),
				Generation: 2,
				PID:        1002,
				Restarts:   1,
				Calls:      2,
				Failures:   1,
				Version:    "1.0.2",
				Digest:     "abc",
			},
			s,
		)
		f.done(t, h)
		require.Equal(t, Closed, h.Health().State)
		for _, line := range []string{"plugin started", "plugin's process ended", "plugin restarted"} {
			require.Contains(t, f.logged(), line)
		}
	})
}

// A process that goes on ending is replaced at once, then after pauses, and given up after the
// fifth time.
func TestQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		h := f.open(t, Config{})
		var pauses []time.Duration
		for n := 1; n <= maxCrashes; n++ {
			began := time.Now()
			f.process(n).die()
			if n == maxCrashes {
				break
			}
			for f.starts() == n {
				time.Sleep(time.Millisecond)
			}
			pauses = append(pauses, time.Since(began))
			synctest.Wait()
		}
		for i, at := range []time.Duration{0, 100, 200, 400} {
			at *= time.Millisecond
			require.GreaterOrEqual(t, pauses[i], at/2)
			require.LessOrEqual(t, pauses[i], at+time.Millisecond)
		}
		synctest.Wait()
		require.Equal(t, Quarantined, h.Health().State)
		for range 2 {
			_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
			require.ErrorIs(t, err, ErrQuarantined)
			require.ErrorIs(t, err, ErrGone, "the last error")
			require.ErrorContains(t, err, "guard")
			require.ErrorContains(t, err, "reload it or restart the runner")
			time.Sleep(time.Hour)
		}
		require.Equal(t, maxCrashes, f.starts())
		require.Contains(t, f.logged(), "in quarantine")
		require.NoError(t, h.Reload(t.Context(), Config{}))
		requireAnswer(t, h, plugin.OnEvent, "i", "6")
		f.process(6).die()
		requireAnswer(t, h, plugin.OnEvent, "i", "7")
		f.done(t, h)
	})
}

// Ends that are far apart are no reason to give up, and each is followed by a start at once.
func TestNoQuarantineForRareCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		h := f.open(t, Config{})
		for n := 1; n <= 20; n++ {
			time.Sleep(crashSpan / (maxCrashes - 1))
			f.process(n).die()
			synctest.Wait()
			require.Equal(t, n+1, f.starts())
			require.Equal(t, Ready, h.Health().State)
		}
		f.done(t, h)
	})
}

func TestStartsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		starts int
	}{
		"for now":           {errors.New("no memory"), maxCrashes},
		"another digest":    {fmt.Errorf("start: %w", ErrDigest), 2},
		"settings refused":  {fmt.Errorf("start: %w", ErrSettings), 2},
		"another protocol":  {fmt.Errorf("start: %w", ErrProtocol), 2},
		"of another nature": {nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := numbered()
				f.start = func(_ context.Context, p *fakeProcess) error {
					if p.n > 1 {
						return c.err
					}
					return nil
				}
				if c.err == nil {
					was := f.plugin
					f.plugin = func(p *fakeProcess) *plugin.Plugin {
						q := was(p)
						if p.n > 1 {
							q.BeforeModel = nil
						}
						return q
					}
				}
				h := f.open(t, Config{})
				f.process(1).die()
				time.Sleep(time.Minute)
				require.Equal(t, c.starts, f.starts())
				_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
				require.ErrorIs(t, err, ErrQuarantined)
				if c.err != nil {
					require.ErrorIs(t, err, c.err)
				} else {
					require.ErrorIs(t, err, errOther)
				}
				f.done(t, h)
			})
		})
	}
	t.Run("the first", func(t *testing.T) {
		f := &fakeProcesses{start: func(context.Context, *fakeProcess) error { return errBoom }}
		_, err := openHost(t.Context(), Config{}, f.launch)
		require.ErrorIs(t, err, errBoom)
	})
}

func TestBackoff(t *testing.T) {
	require.Zero(t, backoff(0))
	for row := range 200 {
		for range 20 {
			d := backoff(row)
			require.LessOrEqual(t, d, maxPause)
			if row > 0 {
				require.GreaterOrEqual(t, d, min(50*time.Millisecond<<min(row-1, 16), maxPause/2))
			}
		}
	}
}

// A process that takes no message is killed after two heartbeats and replaced; one that is stuck
// in a hook answers them and lives.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		h := f.open(t, Config{})
		time.Sleep(time.Hour)
		require.Equal(t, 1, f.starts())
		f.process(1).freeze()
		time.Sleep((maxMissed + 1) * (heartbeat + time.Second))
		require.Equal(t, 2, f.starts())
		require.Contains(t, h.Health().LastError, "heartbeats")
		requireAnswer(t, h, plugin.OnEvent, "i", "2")
		require.True(t, f.process(1).ended())
		f.done(t, h)
	})
	synctest.Test(t, func(t *testing.T) { // one that is late now and then
		f := numbered()
		h := f.open(t, Config{})
		time.Sleep(heartbeat / 2)
		for i := range 100 {
			f.process(1).mute.Store(i%2 == 0)
			time.Sleep(heartbeat)
		}
		require.Equal(t, 1, f.starts())
		f.done(t, h)
	})
	synctest.Test(t, func(t *testing.T) { // one that a debugger traces, until it does not
		f := numbered()
		h := f.open(t, Config{})
		f.process(1).debugged.Store(true)
		f.process(1).freeze()
		time.Sleep(time.Hour)
		require.Equal(t, 1, f.starts())
		require.Equal(t, 1, strings.Count(f.logged(), "a debugger traces the plugin"))
		f.process(1).debugged.Store(false)
		time.Sleep((maxMissed + 1) * (heartbeat + time.Second))
		require.Equal(t, 2, f.starts())
		f.done(t, h)
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProcesses{plugin: func(p *fakeProcess) *plugin.Plugin {
			return pluginWith(
				func(context.Context, plugin.Hook, *session.Invocation) (plugin.Outcome, error) {
					time.Sleep(time.Hour)
					return plugin.Outcome{}, nil
				},
				allHooks...)
		}}
		h := f.open(t, Config{Timeout: 2 * time.Hour})
		_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
		require.NoError(t, err)
		require.Equal(t, 1, f.starts())
		f.done(t, h)
	})
}

// The breaker opens for one hook, and not for what is the end of a process.
func TestBreakerOfAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		f := &fakeProcesses{plugin: func(p *fakeProcess) *plugin.Plugin {
			return pluginWith(
				func(_ context.Context, hook plugin.Hook, _ *session.Invocation) (plugin.Outcome, error) {
					if hook == plugin.OnEvent && broken {
						return plugin.Outcome{}, errBoom
					}
					return plugin.Outcome{Withhold: true, Stop: true}, nil
				},
				plugin.OnEvent,
				plugin.BeforeModel,
			)
		}}
		h := f.open(t, Config{})
		for i := range 2 * breakerRow {
			_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
			require.ErrorContains(t, err, "boom")
			require.Equal(t, i >= breakerRow, errors.Is(err, ErrBreaker))
			_, err = fire(t.Context(), h.Plugin(), plugin.BeforeModel, "i")
			require.NoError(t, err)
		}
		require.Equal(t, 3*breakerRow, f.process(1).calls, "an open breaker costs no message")
		broken = false
		time.Sleep(firstPause)
		for range 2 * breakerRow { // refusals are no failures
			out, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
			require.NoError(t, err)
			require.True(t, out.Withhold)
		}
		require.Contains(t, f.logged(), "not called for a while")
		require.Contains(t, f.logged(), "called again")
		f.done(t, h)
	})
}

// Many calls that end with their process do not keep the replacement from being called.
func TestCrashUnderManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProcesses{plugin: func(p *fakeProcess) *plugin.Plugin {
			return pluginWith(
				func(context.Context, plugin.Hook, *session.Invocation) (plugin.Outcome, error) {
					if p.n == 1 {
						<-p.ctx.Done()
					}
					return plugin.Outcome{}, nil
				},
				allHooks...)
		}}
		h := f.open(t, Config{})
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() {
				_, err := fire(context.Background(), h.Plugin(), plugin.OnEvent, strconv.Itoa(i))
				if !errors.Is(err, ErrGone) {
					t.Errorf("%v is not ErrGone", err)
				}
			})
		}
		synctest.Wait()
		f.process(1).die()
		calls.Wait()
		for i := range 100 {
			_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, strconv.Itoa(i))
			require.NoError(t, err)
		}
		require.NotContains(t, f.logged(), "not called for a while")
		f.done(t, h)
	})
}

// Answers that nobody waits for, and answers that come twice, are left alone.
func TestAnswersTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		f.answer = func(p *fakeProcess, m *wire.PluginMessage) bool {
			for _, seq := range []uint64{m.Seq + 7, m.Seq, m.Seq} {
				_ = pluginEnd{p.loop}.Send(&wire.PluginMessage{Seq: seq, Message: m.Message})
			}
			return true
		}
		h := f.open(t, Config{})
		for range 10 {
			requireAnswer(t, h, plugin.OnEvent, "i", "1")
		}
		f.done(t, h)
	})
}
