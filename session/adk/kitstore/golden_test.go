package kitstore_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/internal/sqlitedb"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/adk"
	"github.com/plughook/plughook/session/adk/kitstore"
	"github.com/plughook/plughook/session/memory"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const shared = "../../../../shared/data/other-stores/"

// sharedFile returns a file of the databases that other kits write, or skips the test.
func sharedFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(shared + name)
	if err != nil {
		t.Skipf("the data of other kits is not here: %v", err)
	}
	return string(data)
}

// sqliteOf returns a new SQLite file that statements have filled.
func sqliteOf(t *testing.T, statements string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kit.db")
	db := sqlitedb.Open(file, sqlitedb.Create)
	_, err := db.Exec(statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return file
}

// postgresOf returns the URL of a new PostgreSQL database that statements have filled.
func postgresOf(t *testing.T, statements string) string {
	t.Helper()
	url := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statements)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	return url
}

// all reads a database.
func all(
	t *testing.T,
	db *kitstore.Database,
	err error,
) (map[session.Key]*kitstore.Session, []string) {
	t.Helper()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	found := map[session.Key]*kitstore.Session{}
	for s, err := range db.Sessions(t.Context()) {
		require.NoError(t, err)
		require.NotContains(t, found, s.Key)
		found[s.Key] = s
	}
	return found, db.Left()
}

// plain returns an event in a form that can be compared: without empty maps, lists and false flags.
func plain(t *testing.T, e *session.Event) any {
	t.Helper()
	data, err := json.Marshal(e)
	require.NoError(t, err)
	var again session.Event
	require.NoError(t, json.Unmarshal(data, &again))
	again.Seq = 0
	data, err = json.Marshal(&again)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return bare(v, "")
}

func bare(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, value := range v {
			value := bare(value, key)
			if value == nil && name != "stateDelta" || value == false && name != "stateDelta" {
				continue
			}
			m[key] = value
		}
		if len(m) == 0 && name != "prefs" && name != "output" && name != "empty" {
			return nil
		}
		return m
	case []any:
		var list []any
		for _, item := range v {
			list = append(list, bare(item, ""))
		}
		if len(list) == 0 && name != "output" {
			return nil
		}
		return list
	case json.Number:
		if f, err := v.Float64(); err == nil && f < 1<<53 {
			return f
		}
	case string:
		if name == "data" || name == "thoughtSignature" {
			return strings.NewReplacer("-", "+", "_", "/").Replace(v)
		}
	}
	return v
}

// Every database of other kits, in SQLite and in PostgreSQL, comes out as the recorded sessions do.
func TestDatabasesOfOtherKits(t *testing.T) {
	want := map[session.Key]*session.Recording{}
	for rec, err := range session.ReadRecordings("expected", strings.NewReader(sharedFile(t, "expected.jsonl"))) {
		require.NoError(t, err)
		want[rec.Key] = rec
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	cases := []struct {
		file string
		app  string
		zone *time.Location
	}{
		{"go.sqlite.sql", "go-desk", nil},
		{"go.postgres.sql", "go-desk", nil},
		{"python-v1.sqlite.sql", "py-desk", nil},
		{"python-v1.postgres.sql", "py-desk", nil},
		{"python-sqlite-service.sql", "py-garden", nil},
		{"python-v0.sqlite.sql", "py-shop", berlin},
		{"python-v0.postgres.sql", "py-shop", berlin},
		{"python-v0.sqlite.sql", "py-shop", nil},
		{"python-v0-2025.sqlite.sql", "py-kiosk", nil},
		{"web-session.json", "py-web", nil},
	}
	for _, c := range cases {
		name := c.file
		if c.zone != nil {
			name += " in " + c.zone.String()
		}
		t.Run(name, func(t *testing.T) {
			text := sharedFile(t, c.file)
			var found map[session.Key]*kitstore.Session
			var left []string
			switch {
			case strings.HasSuffix(c.file, ".json"):
				s, err := kitstore.ReadWeb([]byte(text))
				require.NoError(t, err)
				found = map[session.Key]*kitstore.Session{s.Key: s}
			case strings.Contains(c.file, "postgres"):
				db, err := kitstore.OpenPostgres(t.Context(), postgresOf(t, text), c.zone)
				found, left = all(t, db, err)
			default:
				db, err := kitstore.OpenSQLite(t.Context(), sqliteOf(t, text), c.zone)
				found, left = all(t, db, err)
			}
			t.Log(left)
			var keys []session.Key
			for key := range want {
				if key.App == c.app {
					keys = append(keys, key)
				}
			}
			require.ElementsMatch(t, keys, slices.Collect(maps.Keys(found)))
			for _, key := range keys {
				t.Log(key, found[key].Created, found[key].Updated, found[key].Left)
				require.Equal(t, want[key].State, found[key].State, "state of %s", key)
				require.Len(t, found[key].Events, len(want[key].Events), "events of %s", key)
				for i, e := range want[key].Events {
					require.Equal(t, plain(t, e), plain(t, found[key].Events[i]), "event %d of %s",
						i+1, key)
				}
			}
		})
	}
}

// What was imported, twice, has the times and the state that the kit has, but where the kit's own merge of
// objects is no replay of its events. That is said.
func TestImportOfOtherKits(t *testing.T) {
	type ending struct {
		App    string         `json:"appName"`
		User   string         `json:"userId"`
		ID     string         `json:"id"`
		Kit    map[string]any `json:"kit"`
		Replay map[string]any `json:"replay"`
	}
	endings := map[session.Key]ending{}
	for line := range strings.Lines(sharedFile(t, "expected-state.jsonl")) {
		var e ending
		require.NoError(t, jsonv2.Unmarshal([]byte(line), &e))
		endings[session.Key{App: e.App, User: e.User, ID: e.ID}] = e
	}
	for _, name := range []string{
		"go.sqlite.sql", "python-v1.sqlite.sql", "python-sqlite-service.sql", "python-v0.sqlite.sql",
		"python-v0-2025.sqlite.sql",
	} {
		file := sqliteOf(t, sharedFile(t, name))
		into := memory.New()
		var said string
		for range 2 {
			db, err := kitstore.OpenSQLite(t.Context(), file, nil)
			require.NoError(t, err)
			said = ""
			// In the order that Sessions has: sessions of one app and user replace what they share.
			for s, err := range db.Sessions(t.Context()) {
				require.NoError(t, err)
				adk.Convert(s.Recording)
				require.NoError(t, session.Import(t.Context(), into, s.Recording), "%s of %s",
					s.Key, name)
				said += strings.Join(s.Left, "\n")
				got, err := into.Get(t.Context(), s.Key)
				require.NoError(t, err)
				require.Equal(t, s.Created, got.Created)
				require.Equal(t, s.Updated, got.Updated)
			}
			said += strings.Join(db.Left(), "\n")
			require.NoError(t, db.Close())
		}
		for s, err := range into.List(t.Context(), "", "") {
			require.NoError(t, err)
			got, err := into.Get(t.Context(), s.Key)
			require.NoError(t, err)
			want := endings[s.Key].Kit
			if endings[s.Key].Replay != nil {
				want = endings[s.Key].Replay
				require.Contains(t, said, "has another value than in the kit")
			}
			maps.DeleteFunc(want, func(_ string, v any) bool { return v == nil })
			one, err := json.Marshal(want)
			require.NoError(t, err)
			two, err := json.Marshal(got.State)
			require.NoError(t, err)
			require.JSONEq(t, string(one), string(two), "state of %s", s.Key)
		}
		require.NoError(t, into.Close())
	}
}

// Pickles that would run something, are cut short, too deep, too large or no pickles at all lose their
// actions. Their events come over, and what was left out is said.
func TestHostilePickles(t *testing.T) {
	db, err := kitstore.OpenSQLite(t.Context(),
		sqliteOf(t, sharedFile(t, "python-v0-hostile.sqlite.sql")), time.UTC)
	begin := time.Now()
	found, _ := all(t, db, err)
	require.Less(t, time.Since(begin), time.Minute)
	require.Len(t, found, 1)
	for _, s := range found {
		require.Len(t, s.Events, 27)
		said := strings.Join(s.Left, "\n")
		t.Log(said)
		for _, e := range s.Events {
			require.Equal(t, e.ID, e.Text())
			switch name := e.ID[:3]; {
			case name == "h27" || name == "h09":
				require.Equal(t, map[string]any{"k": "v"}, e.Actions.StateDelta, e.ID)
				require.NotContains(t, said, e.ID)
			case name == "h21" || name == "h25" || name == "h26": // data, if not of the kit's making
			default:
				require.Contains(t, said, e.ID)
			}
		}
	}
}
