package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// Tables that grew since the last ANALYZE, or never saw one, are not read from end to end, nor is a
// log: every statement goes by its index, also when its plan was made before the growth.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, prepare, query string }{
		{"never analyzed", "SELECT 1", ""},
		{"analyzed when empty", "VACUUM ANALYZE", ""},
		{"never analyzed, parameters refused", "SELECT 1", "&enable_seqscan=on&plan_cache_mode=auto"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			open(t, url)
			for _, table := range []string{"sessions", "events", "marks", "state", "undo", "shared", "words", "unindexed", "index"} {
				sql(t, url, "ALTER TABLE plughook_"+table+" SET (autovacuum_enabled = false)")
			}
			sql(t, url, c.prepare)
			s := open(t, url+"&pool_max_conns=1"+c.query)
			k := newTalk(t, s, "s", map[string]any{"a": 1, "app:a": 1})
			k.append(t, said(1), spoken("needle"))
			require.NoError(t, s.Index(t.Context(), nil))
			require.Equal(t, 1, hits(t, s, "needle"))
			frontier := k.round(t, 1, 0) // so that the connection has made its plans
			for i := range 10 {
				frontier = k.round(t, i, frontier)
			}
			// The rows that are written below stand for events that came long ago and are in the index. What the store
			// takes in later begins behind them.
			require.NoError(t, s.Index(t.Context(), nil))
			grow := []string{
				`INSERT INTO plughook_events SELECT sid, head + g, us, ns, convert_to('x' || g, 'UTF8'), data
					FROM plughook_sessions JOIN plughook_events USING (sid), generate_series(1, 20000) g WHERE seq = 1`,
				`INSERT INTO plughook_events SELECT -g, 1, us, ns, id, data FROM plughook_events, generate_series(1, 5000) g WHERE seq = 1`,
				`UPDATE plughook_sessions SET head = head + 20000`,
				`INSERT INTO plughook_sessions (app, usr, id, initial_keys, initial_values)
					SELECT app, usr, g, '{}', '{}' FROM plughook_sessions, generate_series(1, 20000) g`,
				`INSERT INTO plughook_words SELECT -g, 1, '{straw}' FROM generate_series(1, 20000) g`,
				`INSERT INTO plughook_state SELECT -g, key, value FROM plughook_state, generate_series(1, 5000) g`,
				`INSERT INTO plughook_shared SELECT owner || convert_to(g::text, 'UTF8'), key, value FROM plughook_shared, generate_series(1, 5000) g`,
				`SELECT gin_clean_pending_list('plughook_words_terms')`,
			}
			for _, statement := range grow {
				sql(t, url, statement)
			}
			k.at.After += 20000
			frontier = k.round(t, 11, frontier) // its compaction has much to read
			sql(t, url, "SELECT pg_stat_reset()")
			const rounds = 50 // what the round before has read is counted too, once
			for i := range rounds {
				frontier = k.round(t, 12+i, frontier)
				require.Equal(t, 1, hits(t, s, "needle"))
			}
			require.NoError(t, s.Close()) // its statistics are told at the end of its connections
			for table, blocks := range blocks(t, url) {
				require.Less(t, blocks/rounds, int64(300),
					"%s: blocks looked at per round; the log has 4,000", table)
			}
		})
	}
}

// round does what an invocation may do.
func (k *talk) round(t testing.TB, n int, frontier int64) int64 {
	e := said(n)
	e.Actions.StateDelta = map[string]any{
		"a":                nil,
		fmt.Sprint("b", n): 2,
		"app:a":            n,
		"user:b":           nil,
	}
	e.Actions.StateIncrement = map[string]float64{"app:n": 1}
	k.append(t, said(n))
	k.append(t, e)
	old := k.at
	c := compaction(k.at.After - 1)
	c.Actions.Compaction.Frontier = frontier
	k.append(t, c)
	_, err := k.store.Append(t.Context(), old, e) // once more
	require.NoError(t, err)
	k.append(t, said(n), said(n))
	k.append(t, rewind(k.at.After-1))
	frontier = k.at.After
	lease, err := k.store.Lease(t.Context(), k.at.Key, "")
	require.NoError(t, err)
	lease.Release()
	_, err = k.store.Get(t.Context(), k.at.Key)
	require.NoError(t, err)
	require.Len(t, texts(t, k.store, k.at.Key, session.Selection{Live: true}), 3)
	texts(t, k.store, k.at.Key, session.Selection{Last: 3})
	return frontier
}

// blocks returns how many blocks of each table and its indexes were looked at.
func blocks(t *testing.T, url string) map[string]int64 {
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	found := map[string]int64{}
	rows, err := conn.Query(t.Context(), `
		SELECT relname, heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0) FROM pg_statio_user_tables`)
	require.NoError(t, err)
	var name string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		if strings.HasPrefix(name, "plughook_") {
			found[name] = n
		}
		return nil
	})
	require.NoError(t, err)
	t.Log(found)
	require.NotZero(t, found["plughook_events"], "nothing was counted")
	return found
}
