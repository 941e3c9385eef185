package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
)

// Many may open a fresh database at once: one of them makes the tables.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := postgres.Open(context.Background(), url+"&pool_max_conns=2")
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Create(context.Background(), session.Key{App: "a", User: "u"}, nil); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A schema that a newer program made is refused.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	open(t, url)
	sql(t, url, "INSERT INTO plughook_migrations (version_id, is_applied) VALUES (99, true)")
	_, err := postgres.Open(t.Context(), url)
	require.ErrorIs(t, err, session.ErrNewerSchema)
	require.ErrorContains(t, err, "version 99")
}

// Once the schema is there, a role that may change no schema can use it.
func TestPlainRole(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	open(t, url)
	role := "role_" + strings.ReplaceAll(session.NewID(), "-", "")
	sql(t, url, "CREATE ROLE "+role+" LOGIN PASSWORD 'p'")
	t.Cleanup(func() { sql(t, url, "DROP OWNED BY "+role); sql(t, url, "DROP ROLE "+role) })
	sql(t, url, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	sql(t, url, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role)
	sql(t, url, "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "+role)
	use(t, open(t, strings.Replace(url, "user=plughook", "user="+role+"&password=p", 1)))
}

// Whatever the URL asks of pgx or the database is set to, the store does its work.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, query string }{
		{"cache_describe", "default_query_exec_mode=cache_describe"},
		{"describe_exec", "default_query_exec_mode=describe_exec"},
		{"exec, for PgBouncer", "default_query_exec_mode=exec"},
		{"simple protocol, for PgBouncer", "default_query_exec_mode=simple_protocol"},
		{"serializable", "default_transaction_isolation=serializable"},
		{"repeatable read", "default_transaction_isolation=repeatable%20read"},
		{"few digits", "extra_float_digits=0"},
		{"another time zone", "timezone=Asia/Kathmandu"},
		{"one connection", "pool_max_conns=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			use(t, open(t, pgtest.URL(t)+"&"+c.query))
		})
	}
	t.Run("a schema of its own", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		sql(t, url, "CREATE SCHEMA mine")
		use(t, open(t, url+"&search_path=mine"))
		sql(t, url, "SELECT FROM mine.plughook_events")
	})
}

// A database that cannot hold every text is refused.
func TestEncoding(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	sql(t, url,
		"CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
	t.Cleanup(func() { sql(t, url, "DROP DATABASE latin WITH (FORCE)") })
	_, err := postgres.Open(t.Context(), "postgres:///latin?"+strings.SplitN(url, "?", 2)[1])
	require.ErrorContains(t, err, "LATIN1")
}

// use does a bit of everything, in two sessions at once.
func use(t *testing.T, s *postgres.Store) {
	var all sync.WaitGroup
	initial := map[string]any{"a": "ä\x00\u2028", "app:n": 0.1, "gone": true}
	for _, k := range []*talk{newTalk(t, s, "1", initial), newTalk(t, s, "2", initial)} {
		all.Go(func() {
			lease, err := s.Lease(context.Background(), k.at.Key, "")
			if err != nil {
				t.Error(err)
				return
			}
			defer lease.Release()
			k.at.Fence = lease.Fence
			for n := range 20 {
				e := session.Message("zero \x00, quote ', backslash \\")
				e.Actions.StateDelta = map[string]any{
					"n":        n,
					"gone":     nil,
					"app:both": k.at.Key.ID,
					"user:x":   nil,
				}
				e.Actions.StateIncrement = map[string]float64{"app:n": 0.2, "user:m": 1e20}
				if k.at.After, err = s.Append(context.Background(), k.at, e, session.Message("2")); err != nil {
					t.Error(err)
					return
				}
			}
			if k.at.After, err = s.Append(context.Background(), k.at, rewind(10)); err == nil {
				c := compaction(8)
				c.Actions.Compaction.Frontier = k.at.After
				_, err = s.Append(context.Background(), k.at, c, session.Message("after"))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	key := session.Key{App: "bench", User: "user", ID: "1"}
	c, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	require.Contains(t, []any{"1", "2"}, c.State["app:both"])
	require.InDelta(t, 0.1+40*0.2, c.State["app:n"], 1e-9)
	delete(c.State, "app:both")
	delete(c.State, "app:n")
	require.Equal(t, map[string]any{"a": "ä\x00\u2028", "n": 4.0, "user:m": 4e21}, c.State)
	require.Equal(t, int64(42+1), c.Position)
	require.Equal(t, []string{"", "zero \x00, quote ', backslash \\", "2", "after"},
		texts(t, s, key, session.Selection{Live: true}))
	require.Equal(t, []string{"2", "", "", "after"},
		texts(t, s, key, session.Selection{Last: 4, Since: c.Created}))
	for c, err := range s.List(t.Context(), "bench", "user") {
		require.NoError(t, err)
		require.Equal(t, initial, c.Initial)
	}
	require.NoError(t, s.Delete(t.Context(), key))
	require.ErrorIs(t, s.Delete(t.Context(), key), session.ErrNotFound)
}
