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

func TestKeyedLockIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks store.KeyedLock
		first, err := locks.Lock(t.Context(), s1)
		require.NoError(t, err)
		var order []int
		for i := range 20 {
			go func() {
				unlock, err := locks.Lock(t.Context(), s1)
				require.NoError(t, err)
				order = append(order, i) // the queue is all that guards it
				unlock()
			}()
			synctest.Wait() // until it waits
		}
		other, err := locks.Lock(t.Context(), s2) // another key waits for nobody
		require.NoError(t, err)
		other()
		require.Empty(t, order)
		first()
		first() // counts once
		synctest.Wait()
		require.Equal(t,
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, order)
	})
}

func TestKeyedLockHonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks store.KeyedLock
		why := errors.New("changed my mind")
		first, err := locks.Lock(t.Context(), s1)
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		var gaveUp error
		got := false
		go func() { _, gaveUp = locks.Lock(ctx, s1) }()
		synctest.Wait()
		go func() {
			unlock, err := locks.Lock(t.Context(), s1)
			got = err == nil
			unlock()
		}()
		synctest.Wait()
		cancel(why)
		synctest.Wait()
		require.ErrorIs(t, gaveUp, why)
		require.False(t, got, "the one behind was let in while the lock is held")
		_, err = locks.Lock(ctx, s2)
		require.ErrorIs(t, err, why, "a context that is done gets no lock, free or not")
		first()
		synctest.Wait()
		require.True(t, got, "the one behind who gave up was not let in")
	})
}

func TestKeyedLockClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks store.KeyedLock
		first, err := locks.Lock(t.Context(), s1)
		require.NoError(t, err)
		errs := make(chan error, 3)
		for range 3 {
			go func() { _, err := locks.Lock(t.Context(), s1); errs <- err }()
		}
		synctest.Wait()
		locks.Close()
		locks.Close()
		for range 3 {
			require.ErrorIs(t, <-errs, session.ErrClosed)
		}
		_, err = locks.Lock(t.Context(), s2)
		require.ErrorIs(t, err, session.ErrClosed)
		first()
		_, err = locks.Lock(t.Context(), s1)
		require.ErrorIs(t, err, session.ErrClosed)
	})
}

// However waiting, giving up and releasing fall together, one has the lock at a time, and it is never lost.
func TestKeyedLockUnderLoad(t *testing.T) {
	var locks store.KeyedLock
	var wg sync.WaitGroup
	count := 0
	for i := range 40 {
		wg.Go(func() {
			for range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				unlock, err := locks.Lock(ctx, s1)
				if err == nil {
					count++
					unlock()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.GreaterOrEqual(t, count, 20*50)
	unlock, err := locks.Lock(t.Context(), s1)
	require.NoError(t, err)
	unlock()
}
