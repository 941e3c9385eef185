//go:build unix

package remote

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/session"
)

// nothingIsDecoded checks that all large answers that were taken have been released.
func nothingIsDecoded(t *testing.T) {
	require.Eventually(t, func() bool {
		free := decoding.TryAcquire(maxDecoding)
		if free {
			decoding.Release(maxDecoding)
		}
		return free
	}, time.Minute, time.Millisecond)
}

// Large answers of all plugins wait for each other. Small ones do not, and nobody who waits for
// one waits longer than its own time.
func TestLargeAnswersWaitForEachOther(t *testing.T) {
	one, _ := started(t, command("asked"))
	another, _ := started(t, command("asked"))
	large := "large " + strconv.Itoa(2*largeMessage)
	require.Len(t, asked(t, one, large), 2*largeMessage)
	nothingIsDecoded(t)

	require.NoError(t, decoding.Acquire(t.Context(), maxDecoding)) // as if others were decoded
	release := sync.OnceFunc(func() { decoding.Release(maxDecoding) })
	defer release()
	for _, p := range []*launched{one, another} {
		require.Equal(t, "hello", asked(t, p, "say hello"))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // enough to ask it
		_, err := p.conn.call(ctx, &session.Invocation{},
			plugin.Args{Hook: plugin.OnEvent, Event: testplugin.TextEvent(large)})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Eventually(t, p.conn.waits.Load, time.Minute, time.Millisecond)
	}
	err := one.process.Stop(t.Context()) // one that waits ends all the same
	if err != nil {
		require.ErrorIs(t, err, process.ErrKilled, "it was still writing")
	}
	release()
	require.Len(t, asked(t, another, large), 2*largeMessage)
	nothingIsDecoded(t)
}

// A plugin whose answer waits for others misses no heartbeat meanwhile.
func TestAPluginThatWaitsIsAlive(t *testing.T) {
	p, _ := started(t, command("asked"))
	g := &generation{launched: &launched{conn: p.conn}}
	h := &Host{log: testplugin.Discard}
	beats := &heartbeats{sent: true, missed: maxMissed - 1}
	p.conn.waits.Store(true)
	h.beat(g, beats)
	require.Zero(t, beats.missed)
	select {
	case <-p.conn.gone:
		t.Fatal(p.conn.cause)
	default:
	}
	p.conn.waits.Store(false)
}

// However calls end, what their answers took of the bound is given back.
func TestLargeAnswersAreReleased(t *testing.T) {
	p, _ := started(t, command("asked"))
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Millisecond)
			defer cancel()
			large := testplugin.TextEvent("large " + strconv.Itoa(8*largeMessage))
			_, _ = p.conn.call(ctx, &session.Invocation{},
				plugin.Args{Hook: plugin.OnEvent, Event: large})
		})
	}
	time.Sleep(100 * time.Millisecond)
	_ = p.process.Stop(t.Context())
	all.Wait()
	nothingIsDecoded(t)
}
