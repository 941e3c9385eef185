package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	goosedb "github.com/pressly/goose/v3/database"

	"github.com/plughook/plughook/session"
)

// migrations make the schema, one version after the other. One that was released is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks our files among SQLite databases ("PLUG").
const applicationID = 0x504c5547

// prepare makes the file, or brings it up to the schema of these migrations, if that is needed. Many
// processes may do so at once: one does it, with the file locked, and the others wait for it.
func prepare(ctx context.Context, path string, migrations fs.FS, patience time.Duration) error {
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
		return fmt.Errorf("sqlite: %s: the directory %s is missing: make it first", path, filepath.Dir(path))
	}
	if f, err := os.Stat(path); err == nil {
		if !f.Mode().IsRegular() {
			return fmt.Errorf("sqlite: %s: not a regular file: give the path of a database file", path)
		}
		if links(f) > 1 {
			return fmt.Errorf("sqlite: %s: the file has another name (a hard link), under which another process would write "+
				"to another log: remove that name, or make a copy of the file", path)
		}
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // a link that leads to itself
		return fmt.Errorf("sqlite: %w", err)
	}
	return patiently(ctx, patience, func() error {
		ready, err := inspect(ctx, path, migrations)
		if err != nil || ready {
			return err
		}
		err = migrate(ctx, path, migrations)
		if busy(err) {
			err = fmt.Errorf("the file is to be made or brought up to this program's schema, for which no other process may have it open: %w", err)
		}
		return err
	})
}

// inspect reports whether the file has the schema of these migrations. It is an error if it never will.
func inspect(ctx context.Context, path string, migrations fs.FS) (ready bool, err error) {
	if f, err := os.Stat(path); err != nil || f.Size() == 0 {
		return false, nil // not there yet; if there is more to it, migrate says so
	}
	c, err := dial(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var app, tables, version, at int64
	var journal string
	if _, err := c.row("SELECT count(*), (SELECT application_id FROM pragma_application_id) FROM sqlite_master", nil, &tables, &app); err != nil {
		return false, err
	}
	if tables > 0 && app != applicationID {
		return false, fmt.Errorf("sqlite: %s: the database of another program: give another path", path)
	}
	if ok, err := c.row("SELECT 1 FROM sqlite_master WHERE name = ?", []any{goose.DefaultTablename}, &at); err != nil || !ok {
		return false, err
	}
	if _, err := c.row("SELECT max(version_id) FROM "+goose.DefaultTablename, nil, &version); err != nil {
		return false, err
	}
	newest, err := goal(c, migrations)
	if err != nil {
		return false, err
	}
	if version > newest {
		return false, fmt.Errorf("sqlite: %s: %w: it has version %d, this program knows versions up to %d: use a newer program", path, session.ErrNewerSchema, version, newest)
	}
	_, err = c.row("PRAGMA journal_mode", nil, &journal)
	return version == newest && journal == "wal", err
}

// migrate brings the file up to date under an exclusive lock. SQLite grants that lock only if no other
// process has the file open. So no running program meets a schema that it does not know.
func migrate(ctx context.Context, path string, migrations fs.FS) (err error) {
	c, err := dialNew(path, "locking_mode = EXCLUSIVE")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	// In this locking mode the connection keeps the lock that the first transaction took.
	if _, err := c.exec("BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	if _, err := c.exec("COMMIT"); err != nil {
		return err
	}
	for _, p := range []string{
		"journal_mode = WAL",
		"synchronous = FULL",
		fmt.Sprintf("application_id = %d", applicationID),
	} {
		if _, err := c.c.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return err
		}
	}
	p, err := provider(c, migrations)
	if err != nil {
		return err
	}
	if err := c.c.Close(); err != nil { // back to the pool of one, which goose takes it from
		return err
	}
	_, err = p.Up(ctx)
	return err
}

func provider(c *conn, migrations fs.FS) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	store, err := goosedb.NewStore(goosedb.DialectSQLite3, goose.DefaultTablename)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectCustom, c.db, files, goose.WithStore(versions{store}), goose.WithDisableGlobalRegistry(true))
}

// versions is goose's table of versions. goose itself would read a time from it to find out whether it is there, and
// SQLite has no type for times.
type versions struct{ goosedb.Store }

// TableExists implements goosedb.StoreExtender.
func (v versions) TableExists(ctx context.Context, db goosedb.DBTxConn) (there bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)", v.Tablename()).Scan(&there)
	return there, err
}

// goal returns the version of the newest migration.
func goal(c *conn, migrations fs.FS) (int64, error) {
	p, err := provider(c, migrations)
	if err != nil {
		return 0, err
	}
	list := p.ListSources()
	return list[len(list)-1].Version, nil
}
