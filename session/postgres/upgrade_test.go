package postgres_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sessiontest"
)

// released are the migrations that are in use somewhere, by the beginning of the SHA-256 of their text. They
// are never changed: what is to be different is another migration. A migration that is not released yet is not
// among them. When it is, it comes here, and what it made goes to testdata.
var released = map[string]string{
	"00001_tables.sql": "e9da1947068e7a44",
	"00002_holder.sql": "2af92882caa13cc4",
}

// barrier is how a migration begins: see schemaFits.
const barrier = `LOCK TABLE plughook_migrations, plughook_sessions IN ACCESS EXCLUSIVE MODE;
UPDATE plughook_sessions SET lease = NULL WHERE lease IS NOT NULL;
`

func TestReleasedMigrationsStay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	for i, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if i < len(released) {
			sum := fmt.Sprintf("%x", sha256.Sum256(data))
			require.Equal(t, released[filepath.Base(file)], sum[:16], file)
		}
		require.True(t, strings.HasPrefix(filepath.Base(file), fmt.Sprintf("%05d_", i+1)), file)
		if i > 0 {
			require.True(t, strings.HasPrefix(string(data), "-- +goose Up\n"+barrier), file)
		}
	}
	require.LessOrEqual(t, len(released), len(files))

	// The version that a fresh database has is the one that this program's statements are for.
	url := pgtest.URL(t)
	s := open(t, url)
	_, err = s.Create(t.Context(), session.Key{App: "a", User: "u"}, nil)
	require.NoError(t, err)
	sql(t, url, "UPDATE plughook_migrations SET version_id = version_id + 1 WHERE version_id = $1",
		len(files))
	_, err = s.Create(t.Context(), session.Key{App: "a", User: "u"}, nil)
	require.ErrorIs(t, err, session.ErrNewerSchema)
}

// A database of each version of the schema, as that version's program left it when it was killed, opens,
// says what it said then, and goes on.
func TestDatabasesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for version := range len(released) {
		name := fmt.Sprint("schema_", version+1)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dump, err := os.ReadFile("testdata/" + name + ".sql")
			require.NoError(t, err)
			golden, err := os.ReadFile("testdata/" + name + ".jsonl")
			require.NoError(t, err)
			url := pgtest.URL(t)
			sql(t, url, string(dump))
			s := open(t, url)
			sessiontest.Upgraded(t, s, golden)
			require.NoError(t, s.Close())
			use(t, open(t, url))
		})
	}
}

// Once a newer program has migrated the schema, every operation of an older one that is running says so.
func TestNewerSchemaWhileOpen(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url+"&pool_max_conns=1")
	k := newTalk(t, s, "s", map[string]any{"a": 1})
	lease, err := s.Lease(t.Context(), k.at.Key, "")
	require.NoError(t, err)
	k.at.Fence = lease.Fence
	k.append(t, said(1), said(2))
	sql(t, url,
		barrier+"INSERT INTO plughook_migrations (version_id, is_applied) VALUES (99, true)")
	state := said(3)
	state.Actions.StateDelta = map[string]any{"a": 2, "app:a": 2}
	for name, do := range map[string]func() error{
		"append": func() error {
			_, err := s.Append(t.Context(), k.at, said(4))
			return err
		},
		"append with state": func() error {
			_, err := s.Append(t.Context(), k.at, state)
			return err
		},
		"append a rewind": func() error {
			_, err := s.Append(t.Context(), k.at, rewind(1))
			return err
		},
		"create": func() error {
			_, err := s.Create(t.Context(), session.Key{App: "a", User: "u"}, nil)
			return err
		},
		"create again": func() error {
			_, err := s.Create(t.Context(), k.at.Key, nil)
			return err
		},
		"get": func() error {
			_, err := s.Get(t.Context(), k.at.Key)
			return err
		},
		"delete": func() error { return s.Delete(t.Context(), k.at.Key) },
		"read": func() error {
			for _, err := range s.Read(t.Context(), k.at.Key, session.Selection{}) {
				return err
			}
			return nil
		},
		"list": func() error {
			for _, err := range s.List(t.Context(), "", "") {
				return err
			}
			return nil
		},
		"lease": func() error {
			lease.Release()
			_, err := s.Lease(t.Context(), k.at.Key, "")
			return err
		},
	} {
		err := do()
		require.ErrorIs(t, err, session.ErrNewerSchema, name)
		require.ErrorContains(t, err, "the schema has version 99, this program knows those up to 3",
			name)
		require.ErrorContains(t, err, "use a newer program", name)
	}
	sql(t, url, "DELETE FROM plughook_migrations WHERE version_id = 99")
	require.Len(t, texts(t, s, k.at.Key, session.Selection{}), 2)
}

// So does a statement that was prepared for columns of another type.
func TestNewerSchemaWithOtherTypes(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url+"&pool_max_conns=1")
	k := newTalk(t, s, "s", nil)
	k.append(t, said(1))
	operations := map[string]func() error{
		"get": func() error {
			_, err := s.Get(t.Context(), k.at.Key)
			return err
		},
		"read": func() error {
			for _, err := range s.Read(t.Context(), k.at.Key, session.Selection{}) {
				return err
			}
			return nil
		},
		"lease": func() error {
			lease, err := s.Lease(t.Context(), k.at.Key, "")
			if err == nil {
				lease.Release()
			}
			return err
		},
		"watch": func() error {
			w, err := s.Watch(t.Context(), k.at.Key)
			if err == nil {
				w.Stop()
			}
			return err
		},
		"cancel":        func() error { return s.Cancel(t.Context(), k.at.Key, "nobody") },
		"set the times": func() error { return s.SetTimes(t.Context(), k.at.Key, time.Now(), time.Time{}) },
		"delete": func() error {
			key := session.Key{App: "a", User: "u", ID: "of another program"}
			_, _ = s.Create(t.Context(), key,
				nil) // after the migration it is there, and cannot be made
			return s.Delete(t.Context(), key)
		},
	}
	for name, do := range operations {
		require.NoError(t, do(), name)
	}
	sql(t, url, "INSERT INTO plughook_sessions (app, usr, id, initial_keys, initial_values) "+
		"VALUES ('a', 'u', 'of another program', '{}', '{}')")
	sql(t, url, barrier+`INSERT INTO plughook_migrations (version_id, is_applied) VALUES (99, true);
		ALTER TABLE plughook_sessions ALTER COLUMN sid DROP IDENTITY;
		ALTER TABLE plughook_sessions ALTER COLUMN sid TYPE numeric, ALTER COLUMN head TYPE numeric`)
	for name, do := range operations {
		require.ErrorIs(t, do(), session.ErrNewerSchema, name)
	}
}

// A newer program migrates the schema while an older one appends, in every way there is: what was appended
// until then is there, and nothing comes after.
func TestNewerProgramMigrates(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	var talks []*talk
	for i := range 6 {
		talks = append(talks, newTalk(t, s, fmt.Sprint(i), nil))
	}
	for _, k := range talks[3:] {
		lease, err := s.Lease(t.Context(), k.at.Key, "")
		require.NoError(t, err)
		defer lease.Release()
		k.at.Fence = lease.Fence
	}
	var acked atomic.Int64
	var all sync.WaitGroup
	for i, k := range talks {
		all.Go(func() {
			for n := 0; ; n++ {
				e := said(n)
				if i%3 > 0 {
					e.Actions.StateDelta = map[string]any{"n": n}
				}
				if i%3 > 1 { // not in one round trip
					e.Actions.StateIncrement = map[string]float64{"app:n": 1}
					e.Actions.StateBound = map[string]float64{"app:n": 1e9}
				}
				last, err := s.Append(context.Background(), k.at, e)
				if err != nil {
					if !errors.Is(err, session.ErrNewerSchema) {
						t.Error(err)
					}
					return
				}
				k.at.After = last
				acked.Add(1)
			}
		})
	}
	for acked.Load() < 100 {
		if t.Failed() {
			return
		}
	}
	require.NoError(t, postgres.Migrate(t.Context(), url, withNewer(t)))
	all.Wait()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var then, now int64
	err = conn.QueryRow(t.Context(), "SELECT (SELECT n FROM counted), count(*) FROM plughook_events").
		Scan(&then, &now)
	require.NoError(t, err)
	require.Equal(t, then, acked.Load(), "acknowledged")
	require.Equal(t, then, now, "events in the log when the schema was changed, and now")
	_, err = postgres.Open(t.Context(), url)
	require.ErrorIs(t, err, session.ErrNewerSchema)
}

// withNewer returns this program's migrations, and one more, which counts the events that are there.
func withNewer(t *testing.T) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	list, err := postgres.Migrations.ReadDir("migrations")
	require.NoError(t, err)
	for _, file := range list {
		data, err := postgres.Migrations.ReadFile("migrations/" + file.Name())
		require.NoError(t, err)
		all["migrations/"+file.Name()] = &fstest.MapFile{Data: data}
	}
	all[fmt.Sprintf("migrations/%05d_newer.sql", len(list)+1)] = &fstest.MapFile{Data: []byte(
		"-- +goose Up\n" + barrier + `
		CREATE TABLE counted AS SELECT count(*) AS n FROM plughook_events;
		ALTER TABLE plughook_events RENAME COLUMN ns TO nanoseconds;`)}
	return all
}
