package kitstore_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/adk/kitstore"
)

const goTables = `
CREATE TABLE sessions (app_name text, user_id text, id text, state text, create_time datetime, update_time datetime);
CREATE TABLE events (id text, app_name text, user_id text, session_id text, invocation_id text, author text,
	actions blob, branch text, routes_json text, timestamp datetime, content text, partial numeric, custom_metadata text);
CREATE TABLE app_states (app_name text, state text);
CREATE TABLE user_states (app_name text, user_id text, state text);
`

// A database of the Go kit has its sessions in the order of their creation, with their times, and with the
// state that no event sets. What is partial, belongs to no session or is no JSON is left out, and said.
func TestGoDatabase(t *testing.T) {
	file := sqliteOf(t, goTables+`
INSERT INTO sessions VALUES ('a','u','late','{"k":1,"given_key":{"in_it":1}}','2026-03-02 09:00:00.5+01:00','2026-03-02 10:00:00+01:00');
INSERT INTO sessions VALUES ('a','u','early','{}','2026-03-01 08:00:00+00:00','2026-03-01 08:00:00+00:00');
INSERT INTO app_states VALUES ('a','{"x":2,"given":true}');
INSERT INTO events VALUES ('2','a','u','late','i','bot',X'7b7d',NULL,NULL,'2026-03-02 08:00:02+00:00','{"role":"model","parts":[{"text":"hi"}]}',0,'{"my_key":NaN}');
INSERT INTO events VALUES ('1','a','u','late','i','user','{"stateDelta":{"k":1,"app:x":2}}',NULL,NULL,'2026-03-02 08:00:01.000001+00:00','{"role":"user","parts":[{"text":"ho"}]}',0,NULL);
INSERT INTO events VALUES ('3','a','u','late','i','bot',X'7b7d',NULL,NULL,'2026-03-02 08:00:03+00:00',NULL,1,NULL);
INSERT INTO events VALUES ('4','a','u','late','i','bot',X'7b7d',NULL,NULL,'2026-03-02 08:00:04+00:00','{"role":',0,NULL);
INSERT INTO events VALUES ('5','a','u','gone','i','bot',X'7b7d',NULL,NULL,'2026-03-02 08:00:04+00:00',NULL,0,NULL);
`)
	db, err := kitstore.OpenSQLite(t.Context(), file, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.Equal(t, "a database of the Go kit", db.Kind)
	var list []*kitstore.Session
	for s, err := range db.Sessions(t.Context()) {
		require.NoError(t, err)
		list = append(list, s)
	}
	require.Len(t, list, 2)
	require.Equal(t, session.Key{App: "a", User: "u", ID: "early"}, list[0].Key)
	late := list[1]
	require.Equal(t, time.Date(2026, 3, 2, 8, 0, 0, 500_000_000, time.UTC), late.Created)
	require.Equal(t, time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), late.Updated)
	require.Equal(t, map[string]any{"given_key": map[string]any{"in_it": 1.0}, "app:given": true},
		late.State)
	require.Len(t, late.Events, 3)
	require.Equal(t, "ho", late.Events[0].Text())
	require.Equal(t, map[string]any{"k": 1.0, "app:x": 2.0}, late.Events[0].Actions.StateDelta)
	require.Equal(t, map[string]any{"my_key": nil}, late.Events[1].CustomMetadata)
	require.Len(t, late.Left, 3)
	require.Contains(t, late.Left[0], `"2": a number that is NaN`)
	require.Contains(t, late.Left[1], `"3" is left out`)
	require.Contains(t, late.Left[2], `"4": its column content is left out`)
	require.Equal(t, []string{"1 events belong to no session, and are left out"}, db.Left())
}

// What is no database of another kit is refused, by what it is.
func TestDatabasesRefused(t *testing.T) {
	open := func(statements string) error {
		_, err := kitstore.OpenSQLite(t.Context(), sqliteOf(t, statements), nil)
		return err
	}
	require.ErrorIs(t, open(`CREATE TABLE t (x)`), kitstore.ErrUnknown)
	require.ErrorIs(t,
		open(`CREATE TABLE sessions (sid, app, usr, id); CREATE TABLE events (pos, data)`),
		kitstore.ErrOwn)
	err := open(goTables + `CREATE TABLE adk_internal_metadata (key text, value text);
		INSERT INTO adk_internal_metadata VALUES ('schema_version', '7')`)
	require.ErrorContains(t, err, `says "7" for schema_version`)
	_, err = kitstore.OpenPostgres(t.Context(), "postgres://u:made-up@%zz/", nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "made-up")
}

// Of a damaged file nothing is read: queries would show a part of it.
func TestDamagedFile(t *testing.T) {
	file := sqliteOf(t, goTables+`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
		INSERT INTO events (id, app_name, user_id, session_id, author, timestamp, content)
		SELECT 'e' || i, 'a', 'u', 's', 'user', '2026-03-02 08:00:01', '{"x":"' || hex(zeroblob(300)) || '"}' FROM n`)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	const page = 4096
	require.Greater(t, len(data), 40*page)
	for name, c := range map[string]struct{ from, to int }{
		"a page":            {20 * page, 21 * page},
		"the end":           {len(data) / 2, len(data)},
		"the first page":    {100, page},
		"the file's header": {16, 100},
	} {
		broken := bytes.Clone(data)
		copy(broken[c.from:c.to], bytes.Repeat([]byte{0xa5}, c.to-c.from))
		require.NoError(t, os.WriteFile(file, broken, 0o600))
		_, err := kitstore.OpenSQLite(t.Context(), file, nil)
		require.ErrorContains(t, err, "the database is damaged", name)
	}
	require.NoError(t, os.WriteFile(file, data, 0o600))
	db, err := kitstore.OpenSQLite(t.Context(), file, nil)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// A view, and what else executes something when it is read, is refused.
func TestNothingIsExecuted(t *testing.T) {
	for name, statements := range map[string]string{
		"a view without end": `CREATE TABLE s (app_name, user_id, id, state, create_time, update_time);
			CREATE VIEW sessions AS SELECT * FROM s;
			CREATE VIEW events AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c)
				SELECT x AS id, 'a' AS app_name, 'u' AS user_id, 's' AS session_id, x AS timestamp, '{}' AS event_data FROM c`,
		"one view": strings.Replace(goTables, "CREATE TABLE events", "CREATE TABLE e", 1) +
			`CREATE VIEW events AS SELECT * FROM e`,
		"a view of state": strings.Replace(goTables, "CREATE TABLE app_states", "CREATE TABLE states", 1) +
			`CREATE VIEW app_states AS SELECT * FROM states`,
	} {
		db, err := kitstore.OpenSQLite(t.Context(), sqliteOf(t, statements), nil)
		if err == nil {
			for _, next := range db.Sessions(t.Context()) {
				err = next
				break
			}
			require.NoError(t, db.Close())
		}
		require.ErrorContains(t, err, "is a view, and not a table as the kits make it", name)
	}
}

// Nor is anything executed that a PostgreSQL database has under the names of what is used to read it.
func TestNothingIsExecutedInPostgres(t *testing.T) {
	const evil = `CREATE SEQUENCE executed;
		CREATE FUNCTION evil(text) RETURNS text LANGUAGE sql AS $$ SELECT nextval('executed')::text $$;
		`
	for name, c := range map[string]struct{ statements, refused string }{
		"a view": {
			`ALTER TABLE sessions RENAME TO s; CREATE VIEW sessions AS SELECT *, evil(id) FROM s`,
			"its sessions is a view",
		},
		"a partitioned table": {
			`DROP TABLE app_states; CREATE TABLE app_states (app_name text, state text) PARTITION BY LIST (app_name)`,
			"its app_states is a partitioned table",
		},
		"a type of its own": {
			`CREATE TYPE own AS (x text);
			CREATE FUNCTION evil(own) RETURNS text LANGUAGE sql AS $$ SELECT nextval('executed')::text $$;
			CREATE CAST (own AS text) WITH FUNCTION evil(own);
			ALTER TABLE sessions ALTER COLUMN state TYPE own USING ROW('{}')::own`,
			`the column "state" of its table sessions has the type`,
		},
		"a policy": {
			`CREATE POLICY p ON sessions USING (evil(id) IS NOT NULL);
			ALTER TABLE sessions ENABLE ROW LEVEL SECURITY; ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
			CREATE ROLE reader LOGIN PASSWORD 'made-up'; GRANT USAGE ON SCHEMA public TO reader;
			GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`,
			"row-level security",
		},
		"a function of the same name": {
			`CREATE SCHEMA other;
			CREATE FUNCTION other.to_regclass(text) RETURNS regclass LANGUAGE sql AS
				$$ SELECT nextval('executed'); SELECT pg_catalog.to_regclass($1) $$;
			CREATE FUNCTION other.count() RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('executed') $$;
			DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = other, public, pg_catalog', current_database()); END $$`,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			url := pgtest.URL(t)
			conn, err := pgx.Connect(ctx, url)
			require.NoError(t, err)
			defer conn.Close(context.Background())
			tables := strings.NewReplacer("datetime", "timestamptz", "blob", "bytea").
				Replace(goTables)
			_, err = conn.Exec(ctx, tables+evil+`
				INSERT INTO sessions VALUES ('a', 'u', 's', '{}', now(), now());`+c.statements)
			require.NoError(t, err)
			if name == "a policy" {
				url = strings.Replace(url, "user=plughook", "user=reader&password=made-up", 1)
				defer func() { _, _ = conn.Exec(ctx, "DROP OWNED BY reader; DROP ROLE reader") }()
			}
			db, err := kitstore.OpenPostgres(ctx, url, nil)
			if err == nil {
				for s, next := range db.Sessions(ctx) {
					if err = next; err == nil {
						require.Equal(t, session.Key{App: "a", User: "u", ID: "s"}, s.Key)
					}
				}
				require.NoError(t, db.Close())
			}
			if c.refused == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.refused)
			}
			var executed bool
			require.NoError(t, conn.QueryRow(ctx, "SELECT is_called FROM executed").Scan(&executed))
			require.False(t, executed)
		})
	}
}

// A saved page without times takes those of the session, and says so.
func TestWebPageWithoutTimes(t *testing.T) {
	s, err := kitstore.ReadWeb(
		[]byte(`{"id":"s","appName":"a","userId":"u","lastUpdateTime":1772442001,
		"state":{"app:x":1,"k":2,"given":3},
		"events":[{"id":"1","author":"user","content":null,"actions":{"stateDelta":{"k":2}}}]}`),
	)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"app:x": 1.0, "given": 3.0}, s.State)
	require.EqualValues(t, 1772442001, s.Events[0].Timestamp.Unix())
	require.Equal(t, []string{"1 events have no time; they got that of the session's last update"},
		s.Left)
}
