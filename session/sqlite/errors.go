package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/plughook/plughook/internal/sqlitedb"
)

// busy reports whether another connection was in the way: it may work a moment later.
func busy(err error) bool {
	c := sqlitedb.Code(err)
	return c == lib.SQLITE_BUSY || c == lib.SQLITE_PROTOCOL
}

// broken reports whether the database failed, as opposed to the request being refused.
func broken(err error) bool {
	return sqlitedb.Code(err) != 0 || errors.Is(err, sql.ErrConnDone) || errors.Is(err, errMoved)
}

// advice says, by SQLite's result code, what happened and what to do.
var advice = map[int]string{
	lib.SQLITE_BUSY:     "another process kept the file locked: find out which (fuser, lsof) and stop it, then try again",
	lib.SQLITE_PROTOCOL: "another process kept the file locked: find out which (fuser, lsof) and stop it, then try again",
	lib.SQLITE_FULL:     "the disk is full, nothing was written: free some space and try again",
	lib.SQLITE_READONLY: "the file, or the directory it is in, is read only for this process: change its permissions",
	lib.SQLITE_PERM:     "this process may not use the file: change its permissions",
	lib.SQLITE_CORRUPT:  "the file is damaged: restore a backup, or save what is left with the sqlite3 shell's .recover",
	lib.SQLITE_NOTADB:   "the file is not an SQLite database, or is damaged: check the path, or restore a backup",
	lib.SQLITE_CANTOPEN: "the file cannot be opened: check that its directory exists and that this process may write there",
	lib.SQLITE_IOERR:    "the disk could not be read or written: look at the system's log; an append may be repeated with the same event ids",
	lib.SQLITE_TOOBIG:   "the event or state value is too large for one row (1 GB): store a reference to it",
	lib.SQLITE_NOMEM:    "out of memory",
}

// explain adds to a database error what happened and what to do. Errors of sessions and of contexts stay as
// they are. When one of the files is deleted, SQLite may fail in many ways: all become errMoved.
func (s *Store) explain(err error) error {
	if sqlitedb.Code(err) != 0 && !busy(err) && s.guard.files[index] != nil {
		gone := s.there()
		if errors.Is(gone, errMoved) {
			err = fmt.Errorf("%w (%w)", errMoved, err)
		}
	}
	return explain(s.path, err)
}

func explain(path string, err error) error {
	var h hole
	switch {
	case err == nil:
		return nil
	case errors.As(err, &h):
		return fmt.Errorf("sqlite: %s: %s (%w)", path, advice[lib.SQLITE_CORRUPT], err)
	case !broken(err):
		return err
	case errors.Is(err, errMoved):
		return fmt.Errorf("sqlite: %s: %w", path, err)
	case advice[sqlitedb.Code(err)] != "":
		return fmt.Errorf("sqlite: %s: %s (%w)", path, advice[sqlitedb.Code(err)], err)
	}
	return fmt.Errorf("sqlite: %s: %w", path, err)
}

// patiently calls f until it is not busy, at most for as long as patience, and the context, last.
func patiently(ctx context.Context, patience time.Duration, f func() error) error {
	for end := time.Now().Add(patience); ; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := f()
		if !busy(err) || time.Now().After(end) {
			return err
		}
		if err := pause(ctx, time.Millisecond/4, 3*time.Millisecond); err != nil {
			return err
		}
	}
}

// hole is a position without its event: something other than this package has been at the file.
type hole int64

func (h hole) Error() string { return fmt.Sprintf("event %d is not in it", int64(h)) }
