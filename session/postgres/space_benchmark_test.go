package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
)

// BenchmarkSpace reports what sessions cost in a database: sessions of 20 events of 1 KB, each with a key of
// state, that are made by runs of 4 events under a lease. B/session is what all tables but that of events take
// for each session, B/event what an event takes with its indexes, which alone take index-B/event. hot is the share of the changes of a
// session's row that leave no dead entry in an index, and need no vacuum of one.
func BenchmarkSpace(b *testing.B) {
	const runs, events = 5, 4
	url := pgtest.URL(b)
	s := open(b, url)
	sessions := 0
	for b.Loop() {
		var writers sync.WaitGroup
		for range 8 {
			k := newTalk(b, s, fmt.Sprint(sessions), map[string]any{"plan": "free"})
			sessions++
			writers.Go(func() {
				for n := range runs {
					lease, err := s.Lease(b.Context(), k.at.Key, "run")
					if err != nil {
						b.Error(err)
						return
					}
					k.at.Fence = lease.Fence
					for i := range events {
						e := said(n*events + i)
						if i == 0 {
							e.Actions.StateDelta = map[string]any{"n": n}
						}
						if k.at.After, err = s.Append(b.Context(), k.at, e); err != nil {
							b.Error(err)
							return
						}
					}
					lease.Release()
				}
			})
		}
		writers.Wait()
	}
	took := b.Elapsed()
	pool, err := pgxpool.New(b.Context(), url)
	require.NoError(b, err)
	defer pool.Close()
	time.Sleep(time.Second) // until the statistics are there
	var rest, all, index, hot, changes float64
	require.NoError(b, pool.QueryRow(b.Context(), `
		SELECT sum(pg_total_relation_size(relid)) FILTER (WHERE relname <> 'plughook_events'),
			sum(pg_total_relation_size(relid)) FILTER (WHERE relname = 'plughook_events'),
			sum(pg_indexes_size(relid)) FILTER (WHERE relname = 'plughook_events'),
			sum(n_tup_hot_upd) FILTER (WHERE relname = 'plughook_sessions'),
			sum(n_tup_upd) FILTER (WHERE relname = 'plughook_sessions')
		FROM pg_stat_user_tables WHERE relname LIKE 'plughook%' AND relname <> 'plughook_migrations'`).Scan(&rest, &all, &index, &hot, &changes))
	b.ReportMetric(rest/float64(sessions), "B/session")
	b.ReportMetric(all/float64(sessions*runs*events), "B/event")
	b.ReportMetric(index/float64(sessions*runs*events), "index-B/event")
	b.ReportMetric(100*hot/changes, "%hot")
	b.ReportMetric(changes/float64(sessions*runs*events), "changes/event")
	b.ReportMetric(float64(sessions*runs*events)/took.Seconds(), "events/s")
}
