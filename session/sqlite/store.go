// Package sqlite keeps sessions in one SQLite file, for one process or several on one machine.
//
// Writes go through one goroutine, which commits in one transaction what is waiting by then, so that
// concurrent sessions share the cost of making a commit durable. An append is on the disk before it
// returns. Reads run beside them, each on a snapshot.
//
// The file is in WAL mode: beside it lie files of the same name with "-wal" and "-shm" at the end, which
// belong to it. When one of the three is deleted or replaced while it is open, nothing is acknowledged any
// more: every operation fails until the process is started again. It must not be on a network file system,
// and must have one name only: a symbolic link may lead to it, but a file with several hard links is refused.
//
// A new column of sessions: a migration, rowColumns and row. A new table with data of a session: a migration,
// and Delete, which empties every table. A new statement that writes: a request of the writer (see
// Store.write). What does not depend on SQLite is in internal/sqlstore.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// A Store is a session.Service on one SQLite file.
type Store struct {
	path     string
	guard    *guard
	ttl      time.Duration // how long a lease outlives its holder
	patience time.Duration // how long to try while other processes are in the way

	readers chan *conn // nil for one that is not open yet
	writer  *writer
	leases  sqlstore.Leases

	watchers store.Watchers[int64] // by sid
	watching watchConn             // of the watchers' goroutine

	life context.Context // until Close
	end  context.CancelCauseFunc

	mu  sync.Mutex
	ops sync.WaitGroup // added to under mu, while life lasts
}

// Open opens the store in the file at path, which it makes if it is not there. Its directory must be
// there. Many processes may open one file. It is session.ErrNewerSchema if a newer program made it; a
// file of an older one is brought up to date, for which no other process may have it open.
func Open(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, 3*time.Second, 30*time.Second)
}

func open(ctx context.Context, path string, ttl, patience time.Duration) (*Store, error) {
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("sqlite: %q is not the path of a file: for sessions in memory use package session/memory", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	s := &Store{
		path:     path,
		ttl:      ttl,
		patience: patience,
	}
	s.leases.Table = leaseTable{s}
	s.leases.Time = ttl
	s.leases.Enter = s.enter
	if err := prepare(ctx, path, migrations, patience); err != nil {
		return nil, explain(path, err)
	}
	if s.guard, err = newGuard(path); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if s.writer, err = newWriter(ctx, s); err != nil {
		return nil, s.explain(err)
	}
	s.readers = make(chan *conn, max(4, 2*runtime.GOMAXPROCS(0)))
	for range cap(s.readers) {
		s.readers <- nil
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	go s.writer.run()
	s.watchers.Poll = s.poll
	return s, nil
}

// enter begins an operation, which Close waits for, unless the store is closed. Its context is done
// when the store is closed, too.
func (s *Store) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(s.life); err != nil {
		return nil, nil, err
	}
	s.ops.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(session.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		s.ops.Done()
	}, nil
}

// Close implements session.Service: it waits for the operations under way, of which those that wait for
// something give up with session.ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.life.Err() != nil
	s.end(session.ErrClosed)
	s.mu.Unlock()
	if closed {
		<-s.writer.stopped
		return nil
	}
	s.watchers.Close()
	s.ops.Wait()
	s.leases.Close()
	s.writer.close()
	err := s.closeWatchConn()
	for range cap(s.readers) {
		if c := <-s.readers; c != nil {
			if e := s.leave(c); err == nil {
				err = e
			}
		}
	}
	// The writer's connection goes last: the last to close a file moves what is in its log into it.
	if e := s.leave(s.writer.c); err == nil {
		err = e
	}
	return s.explain(err)
}

// leave closes a connection, unless the files were moved. SQLite would then copy the old log into the
// database file, perhaps over what another process has written since, and delete the new log. Such a
// connection stays open until the process ends.
func (s *Store) leave(c *conn) error {
	if s.guard.moved.Load() {
		return c.abandon()
	}
	return c.close()
}

// reader opens a connection to read with. It returns errMoved if the path leads to another file by now. The
// connection is not opened read-only: such a connection cannot repair the log's index after a crash.
func (s *Store) reader() (*conn, error) {
	c, err := dial(s.path, "query_only = ON")
	if err != nil {
		return nil, err
	}
	if err := s.there(); err != nil {
		return nil, errors.Join(err, s.leave(c))
	}
	return c, nil
}

// view calls f with a connection that sees one snapshot. If other connections are in the way it calls
// f again.
func (s *Store) view(ctx context.Context, f func(*conn) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var c *conn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.readers <- c }()
	return s.explain(patiently(ctx, s.patience, func() error {
		if err := s.there(); err != nil {
			return err
		}
		if c == nil {
			if c, err = s.reader(); err != nil {
				return err
			}
		}
		_, err := c.exec("BEGIN")
		if err == nil {
			err = f(c)
			c.rollback() // there is nothing to commit
		}
		if broken(err) && !busy(err) {
			_ = c.close() // who knows what state it is in
			c = nil
		}
		return err
	}))
}
