package inflight

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWaitReturnsWhenTheLastPieceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Counter
		require.NoError(t, c.Wait(t.Context()), "nothing is running")
		began := time.Now()
		for i := range 3 {
			require.True(t, c.Begin("a"))
			go func() {
				time.Sleep(time.Duration(i+1) * time.Second)
				c.End("a")
			}()
		}
		require.True(t, c.Begin("b"))
		require.Equal(t, map[string]int{"a": 3, "b": 1}, c.Running())
		go func() {
			time.Sleep(10 * time.Second)
			c.End("b")
		}()
		require.NoError(t, c.Wait(t.Context()))
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Empty(t, c.Running())
	})
}

func TestWaitReturnsWhyTheContextIsDone(t *testing.T) {
	var c Counter
	c.Begin("a")
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	require.Equal(t, reason, c.Wait(ctx))
	require.Equal(t, map[string]int{"a": 1}, c.Running())
}

func TestAfterCloseOnlyPartsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Counter
		require.True(t, c.Begin("run"))
		c.Close()
		require.False(t, c.Begin("run"))
		c.BeginPart("its tool")
		go c.End("run")
		synctest.Wait()
		require.Equal(t, map[string]int{"its tool": 1}, c.Running())
		go c.End("its tool")
		require.NoError(t, c.Wait(t.Context()))
	})
}

func TestEndOfWhatIsNotRunningPanics(t *testing.T) {
	var c Counter
	c.Begin("a")
	require.Panics(t, func() { c.End("b") })
}
