package postgres_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// While the caller works on an event, and after it has left early, no connection is held.
func TestReadHoldsNoConnection(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t)+"&pool_max_conns=1")
	k := newTalk(t, s, "s", nil)
	fill(t, k, 1500)
	for n := range 10 {
		seen := 0
		for e, err := range s.Read(t.Context(), k.at.Key, session.Selection{}) {
			require.NoError(t, err)
			if seen++; seen == 700 {
				k.append(t, said(n)) // with the only connection
				require.Equal(t, int64(700), e.Seq)
				break
			}
		}
	}
	seen := 0
	for _, err := range s.Read(t.Context(), k.at.Key, session.Selection{}) {
		require.NoError(t, err)
		if seen++; seen == 300 {
			k.append(t, said(1)) // after the read began: not part of it
		}
	}
	require.Equal(t, 1510, seen)
}

// A session that is deleted while it is read ends the read with ErrNotFound, never with a gap.
func TestReadOfADeletedSession(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t))
	k := newTalk(t, s, "s", nil)
	fill(t, k, 1000)
	seen := int64(0)
	var last error
	for e, err := range s.Read(t.Context(), k.at.Key, session.Selection{}) {
		if last = err; err != nil {
			continue
		}
		if seen++; seen == 10 {
			require.NoError(t, s.Delete(t.Context(), k.at.Key))
		}
		require.Equal(t, seen, e.Seq)
	}
	require.ErrorIs(t, last, session.ErrNotFound)
	require.Less(t, seen, int64(1000))
}

// Get is one snapshot: its state is that of its position, whatever is appended meanwhile.
func TestGetIsOneSnapshot(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t))
	k := newTalk(t, s, "s", map[string]any{"own": 0, "app:n": 0})
	var writer sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	writer.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			e := said(n)
			e.Actions.StateDelta = map[string]any{"own": n}
			e.Actions.StateIncrement = map[string]float64{"app:n": 1}
			last, err := s.Append(context.Background(), k.at, e)
			if err != nil {
				t.Error(err)
				return
			}
			k.at.After = last
		}
	})
	for range 500 {
		c, err := s.Get(t.Context(), k.at.Key)
		require.NoError(t, err)
		require.EqualValues(t, c.Position, c.State["own"])
		require.EqualValues(t, c.Position, c.State["app:n"])
	}
	cancel()
	writer.Wait()
}

// rewind returns an event that rewinds to a position.
func rewind(to int64) *session.Event {
	return &session.Event{
		Author:  "plugin/rewind",
		Actions: session.Actions{Rewind: &session.Rewind{To: to}},
	}
}
