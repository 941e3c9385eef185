package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres/pgtest"
)

// While the caller works on an event, and after it has left early, no connection is held.
func TestReadHoldsNoConnection(t *testing.T) {
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

// Tables that grew since the last ANALYZE, or never saw one, are not read from end to end: every
// statement goes by an index.
func TestPlans(t *testing.T) {
	for _, c := range []struct{ name, prepare string }{
		{"never analyzed", "SELECT 1"},
		{"analyzed when empty", "VACUUM ANALYZE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := pgtest.URL(t)
			open(t, url)
			for _, table := range tables {
				sql(t, url, "ALTER TABLE plughook_"+table+" SET (autovacuum_enabled = false)")
			}
			sql(t, url, c.prepare)
			s := open(t, url+"&pool_max_conns=1")
			warm := newTalk(t, s, "warm", nil)
			for i := range 20 { // so that the connection has made its plans
				warm.append(t, said(i))
				texts(t, s, warm.at.Key, session.Selection{Live: true})
				texts(t, s, warm.at.Key, session.Selection{Since: time.Unix(0, 0), Last: 3})
				warm.append(t, rewind(warm.at.After))
			}
			talks := []*talk{}
			for i := range 20 {
				k := newTalk(t, s, fmt.Sprint(i), map[string]any{"a": 1, "app:a": 1})
				fill(t, k, 500)
				talks = append(talks, k)
			}
			for i, k := range talks {
				e := said(i)
				e.Actions.StateDelta = map[string]any{"a": nil, fmt.Sprint("b", i): 2, "app:a": i, "user:b": nil}
				e.Actions.StateIncrement = map[string]float64{"app:n": 1}
				k.append(t, said(i))
				k.append(t, e)
				k.append(t, compaction(400))
				k.append(t, rewind(450))
				turn, err := s.Turn(t.Context(), k.at.Key)
				require.NoError(t, err)
				turn.Release()
				_, err = s.Get(t.Context(), k.at.Key)
				require.NoError(t, err)
				require.Len(t, texts(t, s, k.at.Key, session.Selection{Live: true}), 450)
				require.Len(t, texts(t, s, k.at.Key, session.Selection{Since: time.Unix(0, 0), Last: 3}), 3)
			}
			require.NoError(t, s.Close()) // its statistics are told at the end of its connections
			require.Equal(t, map[string]int64{}, scans(t, url))
		})
	}
}

// rewind returns an event that rewinds to a position.
func rewind(to int64) *session.Event {
	return &session.Event{Author: "plugin/rewind", Actions: session.Actions{Rewind: &session.Rewind{To: to}}}
}

var tables = []string{"sessions", "events", "marks", "state", "undo", "shared"}

// scans returns how often which tables were read from end to end.
func scans(t *testing.T, url string) map[string]int64 {
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	found := map[string]int64{}
	rows, err := conn.Query(t.Context(), `
		SELECT relname, seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname LIKE 'plughook\_%' AND relname <> 'plughook_migrations'`)
	require.NoError(t, err)
	var name string
	var seq, idx int64
	sum := int64(0)
	_, err = pgx.ForEachRow(rows, []any{&name, &seq, &idx}, func() error {
		t.Log(name, seq, idx)
		if sum += idx; seq > 0 {
			found[name] = seq
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, sum, "nothing was counted")
	return found
}
