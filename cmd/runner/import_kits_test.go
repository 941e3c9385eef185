package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/internal/pgtest"
)

// kitDatabase is a database as the Go kit writes it: one session with a call that changes state, and one without events.
const kitDatabase = `
CREATE TABLE app_states (app_name text PRIMARY KEY, state jsonb, update_time timestamptz(6));
CREATE TABLE user_states (app_name text, user_id text, state jsonb, update_time timestamptz(6), PRIMARY KEY (app_name, user_id));
CREATE TABLE sessions (app_name text, user_id text, id text, state jsonb, create_time timestamptz(6), update_time timestamptz(6),
  PRIMARY KEY (app_name, user_id, id));
CREATE TABLE events (id text, app_name text, user_id text, session_id text, invocation_id text, author text, actions bytea,
  long_running_tool_ids_json jsonb, routes_json jsonb, branch text, timestamp timestamptz(6), content jsonb,
  partial boolean, turn_complete boolean, error_code text, error_message text, interrupted boolean,
  PRIMARY KEY (id, app_name, user_id, session_id));
INSERT INTO sessions VALUES
  ('shop', 'ana', 's1', '{"open": 2}', '2026-03-02 08:00:00.123456+00', '2026-03-02 08:00:03+00'),
  ('shop', 'bo', 's2', '{"topic": "none yet"}', '2026-03-04 00:00:00+00', '2026-03-04 00:00:00+00');
INSERT INTO events (id, app_name, user_id, session_id, invocation_id, author, actions, timestamp, content) VALUES
  ('e1', 'shop', 'ana', 's1', 'i1', 'user', '{}', '2026-03-02 08:00:01+00', '{"role": "user", "parts": [{"text": "open?"}]}'),
  ('e2', 'shop', 'ana', 's1', 'i1', 'clerk', '{}', '2026-03-02 08:00:02+00',
   '{"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "find", "args": {"my_key": 1}}}]}'),
  ('e3', 'shop', 'ana', 's1', 'i1', 'clerk', '{"stateDelta": {"open": 2}}', '2026-03-02 08:00:03+00',
   '{"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "find", "response": {"n": 2}}}]}');
`

// The sessions of another kit's PostgreSQL database come over by its URL, into PostgreSQL and into a file, with their
// times, and go out again.
func TestImportOfAnotherKitsPostgres(t *testing.T) {
	server := pgtest.Start(t)
	kit := server.URL(t)
	db, err := pgx.Connect(t.Context(), kit)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), kitDatabase)
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
	runner := func(args ...string) (out, stderr string) {
		t.Helper()
		code, out, stderr := clitest.RunLeakless(t, newRoot, nil, args...)
		require.Zero(t, code, stderr)
		return out, stderr
	}

	// What would come is told first, and nothing is written.
	out, stderr := runner("session", "import", kit, "--dry-run")
	require.Contains(t, stderr, "the PostgreSQL database is ")
	require.Contains(t, stderr, "would import 2 sessions, 3 events")
	require.NotContains(t, stderr, kit, "a URL may have a password")
	require.Contains(t, out,
		"shop/ana/s1  3 events, created 2026-03-02 08:00:00, updated 2026-03-02 08:00:03\n")

	// Into either store, and the same goes out.
	file := filepath.Join(t.TempDir(), "s.db")
	var exports []string
	for _, store := range []string{server.URL(t), "sqlite:" + file} {
		_, stderr = runner("session", "import", kit, "--store", store)
		require.Contains(t, stderr, "imported 2 sessions, 3 events")
		_, stderr = runner("session", "import", kit, "--store", store)
		require.Contains(t, stderr, "already there: 2 sessions")
		out, _ = runner("session", "export", "--all", "--store", store)
		exports = append(exports, out)
		out, _ = runner("session", "stats", "--by", "tool", "--csv", "--store", store)
		require.Contains(t, out, "\nfind,")
	}
	require.Equal(t, exports[0], exports[1])
	require.Contains(t, out, "find,0,0,0,0,0,0,0,1,1,")
	require.Contains(
		t,
		exports[0],
		`"id":"s1","state":{},"createTime":"2026-03-02T08:00:00.123456Z","lastUpdateTime":"2026-03-02T08:00:03Z"}}`,
	)
	require.Contains(t, exports[0], `"args":{"my_key":1}`)

	// The file that goes out is what comes back.
	copied := filepath.Join(t.TempDir(), "out.jsonl")
	require.NoError(t, os.WriteFile(copied, []byte(exports[0]), 0o600))
	runner("session", "import", copied, "--store", "sqlite:"+copied+".db")
	out, _ = runner("session", "export", "--all", "--store", "sqlite:"+copied+".db")
	require.Equal(t, exports[0], out)

	// A database that is a store of ours is not another kit's.
	code, _, stderr := clitest.RunLeakless(t, newRoot, nil, "session", "import", "sqlite:"+file,
		"--store", "sqlite:"+copied+".db")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "it holds sessions of this project already")
}
