package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/plughook/plughook/session"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versions is the table of the migrations that were applied. Each migration adds a row.
const versions = "plughook_migrations"

// newest is the version of the newest migration: the one that the statements of this package are for.
const newest = "3"

// schemaVersion is the schema's version as a value in a statement, schemaFits the condition that this
// program knows it. Every statement that changes a session, and the first one of every read, has one of them
// or needs a lease. So a program that is running while a newer one migrates the schema stops with
// session.ErrNewerSchema, and writes nothing that the newer one would not understand.
//
// For that, every migration but the first begins with
//
//	LOCK TABLE plughook_migrations, plughook_sessions IN ACCESS EXCLUSIVE MODE;
//	UPDATE plughook_sessions SET lease = NULL WHERE lease IS NOT NULL;
//
// It then waits for the statements that are under way. Those that come later wait for its end before they
// look at the version, or find that their lease was taken away, and then look at the version. A migration
// that was released is never changed.
const (
	schemaVersion = `(SELECT version_id FROM ` + versions + ` ORDER BY id DESC LIMIT 1)`
	schemaFits    = `(SELECT version_id <= ` + newest + ` FROM ` + versions + ` ORDER BY id DESC LIMIT 1)`
)

// fits is session.ErrNewerSchema for a version that this program does not know.
func fits(version int64) error {
	known, err := strconv.ParseInt(newest, 10, 64)
	if err == nil && version > known {
		err = newer(version, known)
	}
	return err
}

func newer(version, known int64) error {
	return fmt.Errorf("the schema has version %d, this program knows those up to %d: %w: use a newer program",
		version, known, session.ErrNewerSchema)
}

// current is session.ErrNewerSchema if a newer program has migrated the schema. It asks on a pool, or on a
// connection that is at hand.
func current(ctx context.Context, on interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}) error {
	var version int64
	if err := on.QueryRow(ctx, "SELECT "+schemaVersion).Scan(&version); err != nil {
		return err
	}
	return fits(version)
}

// migrate brings the schema to the version of these migrations, however many processes do so at once.
func migrate(ctx context.Context, pool *pgxpool.Pool, migrations fs.FS) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(versions),
		goose.WithSessionLocker(advisoryLock{}), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	want := sources[len(sources)-1].Version
	// The usual case is one plain query: no lock, and no right to change the schema is needed.
	have, err := version(ctx, pool)
	if err == nil && have < want {
		if err = apply(ctx, provider, sources, have); err == nil {
			have, err = version(ctx, pool)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("the schema could not be brought to version %d: %w", want, err)
	case have > want:
		return newer(have, want)
	}
	return nil
}

// apply applies the migrations beyond a version, one by one: each looks under the lock for what others have
// done meanwhile. Provider.Up looks before it has the lock, when another process may be making the tables
// that it reads.
func apply(ctx context.Context, provider *goose.Provider, sources []*goose.Source, have int64) error {
	for _, source := range sources {
		if source.Version <= have {
			continue
		}
		// The appends of programs that are running lock the same tables in another order. PostgreSQL then
		// lets one of those who wait for each other go on, and tells the other to begin anew.
		var err error
		for range 10 {
			_, err = provider.ApplyVersion(ctx, source.Version, true)
			if !disturbed(err) {
				break
			}
		}
		if err != nil && !errors.Is(err, goose.ErrAlreadyApplied) {
			return err
		}
	}
	return nil
}

// version returns the schema's version, 0 if there is none yet.
func version(ctx context.Context, pool *pgxpool.Pool) (v int64, err error) {
	var there bool
	if err := pool.QueryRow(ctx, "SELECT to_regclass('"+versions+"') IS NOT NULL").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = pool.QueryRow(ctx, "SELECT coalesce("+schemaVersion+", 0)").Scan(&v)
	return v, err
}

// advisoryLock makes goose wait its turn in the server, where its own lock polls by the second.
type advisoryLock struct{}

const lockKey = 7813282074906421613 // any number; the lock is the database's

func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1::bigint)", int64(lockKey))
	return err
}

func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	var was bool
	err := conn.QueryRowContext(ctx, "SELECT pg_advisory_unlock($1::bigint)", int64(lockKey)).Scan(&was)
	if err == nil && !was {
		err = errors.New("the migration lock was not ours to give back: a connection pool between here and PostgreSQL gives each statement another session; migrate once through a direct connection")
	}
	return err
}

// encoding refuses a database that cannot hold every text.
func encoding(ctx context.Context, pool *pgxpool.Pool) error {
	var name string
	if err := pool.QueryRow(ctx, "SHOW server_encoding").Scan(&name); err != nil {
		return err
	}
	if name != "UTF8" {
		return fmt.Errorf("the database has the encoding %s, which does not hold every text: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", name)
	}
	return nil
}

// none reports whether a query found nothing.
func none(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
