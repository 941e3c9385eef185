package remote

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

var errNobody = errors.New("nobody listens")

// Of a plugin that is attached nothing is watched: it may stand still for hours, between calls
// and in one.
func TestAttachedIsNotWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProcesses{plugin: func(*fakeProcess) *plugin.Plugin {
			return pluginWith(
				func(ctx context.Context, _ plugin.Hook, _ *session.Invocation) (plugin.Outcome, error) {
					_, bounded := ctx.Deadline()
					time.Sleep(time.Hour)
					return plugin.Outcome{
						Reason: map[bool]string{true: "bounded", false: "at leisure"}[bounded],
					}, nil
				},
				allHooks...)
		}}
		h := f.open(t, Config{Attach: "/debugged.sock"})
		f.process(1).mute.Store(true)
		time.Sleep(time.Hour)
		for _, hook := range allHooks {
			requireAnswer(t, h, hook, "i", "at leisure")
		}
		require.Equal(t, 1, f.starts())
		require.Equal(t, Ready, h.Health().State)
		f.done(t, h)
	})
}

// Timeouts that are asked for hold.
func TestAttachedTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProcesses{plugin: func(p *fakeProcess) *plugin.Plugin {
			return pluginWith(
				func(context.Context, plugin.Hook, *session.Invocation) (plugin.Outcome, error) {
					<-p.ctx.Done()
					return plugin.Outcome{}, nil
				},
				allHooks...)
		}}
		h := f.open(t, Config{Attach: "/debugged.sock", Timeout: time.Minute})
		began := time.Now()
		_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
		require.ErrorIs(t, err, plugin.ErrTimeout)
		require.Equal(t, time.Minute, time.Since(began))
		f.done(t, h)
	})
}

// When it has gone, calls fail and each that comes tries once to connect again, however often:
// there is no quarantine.
func TestAttachedGoesAndComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := true
		f := numbered()
		f.start = func(context.Context, *fakeProcess) error {
			if !there {
				return errNobody
			}
			return nil
		}
		h := f.open(t, Config{Attach: "/debugged.sock"})
		there = false
		f.process(1).die()
		synctest.Wait()
		require.Equal(t, Detached, h.Health().State)
		time.Sleep(time.Hour)
		require.Equal(t, 1, f.starts(), "nobody has asked")
		for i := range 2 * maxCrashes {
			_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
			require.ErrorIs(t, err, ErrGone)
			require.ErrorIs(t, err, errNobody)
			require.Equal(t, 2+i, f.starts())
		}
		there = true
		requireAnswer(t, h, plugin.OnEvent, "i", "12")
		require.Equal(t, Ready, h.Health().State)
		require.Equal(t, 1, h.Health().Restarts)

		f.process(0).die() // calls at once share an attempt
		synctest.Wait()
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() { requireAnswer(t, h, plugin.OnEvent, "i", "13") })
		}
		calls.Wait()

		there = false
		f.process(0).die()
		synctest.Wait()
		f.done(t, h)
		_, err := fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
		require.ErrorIs(t, err, ErrClosed)
	})
}

// Close does not wait for one that is about to be attached.
func TestAttachedClosesWhileItConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered()
		f.start = func(ctx context.Context, p *fakeProcess) error {
			if p.n > 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		h := f.open(t, Config{Attach: "/debugged.sock"})
		f.process(1).die()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := fire(ctx, h.Plugin(), plugin.OnEvent, "i")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, Restarting, h.Health().State)
		f.done(t, h)
	})
}
