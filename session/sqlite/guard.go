package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// errMoved says that one of the store's files was deleted, replaced or cut short. A process that did not
// notice would go on writing to files that nobody can open any more.
var errMoved = errors.New("the file was deleted, replaced or cut short while it was open, or its -wal or -shm was; " +
	"nothing is written to it any more: start this process again")

// suffixes are what follows the path in the names of a store's files. SQLite writes a commit to the log
// (-wal), moves it into the database file later, and finds it in the log by an index (-shm). Who opens
// the path looks for all three: a commit is there for others only if it is in the files that have these
// names now.
var suffixes = [...]string{database: "", log: "-wal", index: "-shm"}

// The places of a store's files in suffixes.
const (
	database = iota
	log
	index
)

// A guard notices when a path does not lead any more to the files that were opened by it.
type guard struct {
	names [len(suffixes)]string
	files [len(suffixes)]fs.FileInfo // as they were when they were opened
	moved atomic.Bool                // it was noticed. There is no way back: another process may have written since.
}

// newGuard returns a guard of the store at a path, where the file is. Where the path is a symbolic link, SQLite
// names the log and its index by the file that the link leads to.
func newGuard(path string) (*guard, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	g := &guard{}
	for i, suffix := range suffixes {
		g.names[i] = target + suffix
	}
	g.names[database] = path
	return g, nil
}

// look remembers a file as it is now, by its place in suffixes.
func (g *guard) look(file int) (err error) {
	g.files[file], err = os.Stat(g.names[file])
	return err
}

// check is errMoved if a file is not the one that was opened. It returns the length of the log.
func (g *guard) check() (logSize int64, err error) {
	if g.moved.Load() {
		return 0, errMoved
	}
	for i, name := range g.names {
		f, err := os.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		if err != nil || !os.SameFile(f, g.files[i]) {
			g.moved.Store(true)
			return 0, errMoved
		}
		if i == log {
			logSize = f.Size()
		}
	}
	return logSize, nil
}

// rescuable reports whether the log file was deleted, and no process has opened the database since then: such
// a process would have made a new log file. The database file must still be there.
func (g *guard) rescuable() bool {
	f, err := os.Stat(g.names[database])
	if err != nil || !os.SameFile(f, g.files[database]) {
		return false
	}
	_, err = os.Stat(g.names[log])
	return errors.Is(err, fs.ErrNotExist)
}

// there is errMoved if the path does not lead to the open files any more.
func (s *Store) there() error {
	_, err := s.guard.check()
	return err
}

// intact is errMoved if the path does not lead to the open files any more, or the log is too short for
// what SQLite has written to it. It is called before each transaction, and again after each commit before
// that is acknowledged.
func (w *writer) intact() error {
	size, err := w.s.guard.check()
	if err == nil && size < w.logSize {
		// SQLite itself makes the log shorter once all of it is in the database file. Does it know that?
		var blocked, frames, moved int64
		if _, err := w.c.row("PRAGMA wal_checkpoint(NOOP)", nil, &blocked, &frames, &moved); err != nil {
			return err
		}
		if frames > 0 && size < logHeader+frames*(frameHeader+w.pageSize) {
			w.s.guard.moved.Store(true)
			err = errMoved
		}
	}
	w.logSize = size
	if err != nil {
		w.rescue()
	}
	return err
}

// What SQLite writes to the log before the first page, and before each page.
const (
	logHeader   = 32
	frameHeader = 24
)

// rescue copies acknowledged commits from a deleted log file into the database file. The next process that
// opens the database then has them.
func (w *writer) rescue() {
	if w.s.guard.rescuable() {
		var blocked, frames, moved int64
		_, _ = w.c.row("PRAGMA wal_checkpoint(PASSIVE)", nil, &blocked, &frames, &moved)
	}
}
