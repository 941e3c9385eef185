package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// Sessions that change the same "app:" and "user:" keys at once, each several in an order of its own and
// by every way there is to append, lose nothing and never lock each other out.
func TestSharedKeys(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	const sessions = 8
	const each = 60
	var writers sync.WaitGroup
	for i := range sessions {
		k := newTalk(t, s, fmt.Sprint(i), nil)
		writers.Go(func() {
			frontier := int64(0)
			for n := range each {
				e := said(n)
				e.Actions.StateIncrement = map[string]float64{"app:n": 1, "user:n": 0.5}
				e.Actions.StateDelta = map[string]any{fmt.Sprintf("app:%d", i): n}
				for range 3 {
					var v any = n
					if rand.N(3) == 0 {
						v = nil
					}
					e.Actions.StateDelta[[]string{"app:a", "app:b", "app:c", "user:a", "user:b"}[rand.N(5)]] = v
				}
				batch := []*session.Event{e}
				if n%3 == 2 { // not in one round trip
					c := compaction(k.at.After)
					c.Actions.Compaction.Frontier = frontier
					frontier = k.at.After + 2
					batch = append(batch, c)
				}
				last, err := s.Append(context.Background(), k.at, batch...)
				if err != nil {
					t.Error(err)
					return
				}
				k.at.After = last
			}
		})
	}
	writers.Wait()
	c, err := s.Get(t.Context(), session.Key{App: "bench", User: "user", ID: "0"})
	require.NoError(t, err)
	require.EqualValues(t, sessions*each, c.State["app:n"])
	require.EqualValues(t, sessions*each/2, c.State["user:n"])
	for i := range sessions {
		require.EqualValues(t, each-1, c.State[fmt.Sprintf("app:%d", i)])
	}
	require.NoError(t, s.Close())
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var deadlocks, unfinished int
	require.NoError(t, conn.QueryRow(t.Context(), `
		SELECT deadlocks, (SELECT count(*) FROM plughook_shared WHERE value IS NULL)
		FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks, &unfinished))
	require.Zero(t, deadlocks)
	require.Zero(t, unfinished)
}
