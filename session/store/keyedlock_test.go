package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

var s1, s2 = session.Key{App: "a", User: "u", ID: "1"}, session.Key{App: "a", User: "u", ID: "2"}

func TestQueueIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q store.KeyedLock
		first, err := q.Wait(t.Context(), s1)
		require.NoError(t, err)
		var order []int
		for i := range 20 {
			go func() {
				release, err := q.Wait(t.Context(), s1)
				require.NoError(t, err)
				order = append(order, i) // the queue is all that guards it
				release()
			}()
			synctest.Wait() // until it waits
		}
		other, err := q.Wait(t.Context(), s2) // another key waits for nobody
		require.NoError(t, err)
		other()
		require.Empty(t, order)
		first()
		first() // counts once
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, order)
	})
}

func TestQueueHonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q store.KeyedLock
		why := errors.New("changed my mind")
		first, err := q.Wait(t.Context(), s1)
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		var gaveUp error
		got := false
		go func() { _, gaveUp = q.Wait(ctx, s1) }()
		synctest.Wait()
		go func() {
			release, err := q.Wait(t.Context(), s1)
			got = err == nil
			release()
		}()
		synctest.Wait()
		cancel(why)
		synctest.Wait()
		require.ErrorIs(t, gaveUp, why)
		require.False(t, got, "the one behind was let in while the turn is held")
		_, err = q.Wait(ctx, s2)
		require.ErrorIs(t, err, why, "a context that is done gets no turn, free or not")
		first()
		synctest.Wait()
		require.True(t, got, "the one behind who gave up was not let in")
	})
}

func TestQueueClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q store.KeyedLock
		first, err := q.Wait(t.Context(), s1)
		require.NoError(t, err)
		errs := make(chan error, 3)
		for range 3 {
			go func() { _, err := q.Wait(t.Context(), s1); errs <- err }()
		}
		synctest.Wait()
		q.Close()
		q.Close()
		for range 3 {
			require.ErrorIs(t, <-errs, session.ErrClosed)
		}
		_, err = q.Wait(t.Context(), s2)
		require.ErrorIs(t, err, session.ErrClosed)
		first()
		_, err = q.Wait(t.Context(), s1)
		require.ErrorIs(t, err, session.ErrClosed)
	})
}

// However waiting, giving up and releasing fall together, one has the turn at a time, and it is never lost.
func TestQueueUnderLoad(t *testing.T) {
	var q store.KeyedLock
	var wg sync.WaitGroup
	count := 0
	for i := range 40 {
		wg.Go(func() {
			for range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				release, err := q.Wait(ctx, s1)
				if err == nil {
					count++
					release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.GreaterOrEqual(t, count, 20*50)
	release, err := q.Wait(t.Context(), s1)
	require.NoError(t, err)
	release()
}
