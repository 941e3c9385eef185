// Package postgres keeps sessions in a PostgreSQL database, for as many processes as like to share it.
//
// Its tables have the prefix plughook_ and live beside others, in the schema that the connection's
// search_path names first. Open makes and migrates them. An ordinary append is one round trip and one
// commit; reading the live view reads the live events only, whatever the length of the log.
//
// Leases are kept in the database, by the database's clock: a process that dies or is cut off loses its
// leases after three seconds, and what it still tries to append is refused.
//
// A new column of sessions: a migration, newest (the schema's version), rowColumns and row. A new table with
// data of a session: a migration, and Delete, which empties every table. What an ordinary append writes
// stands twice: in the function plughook_append and appendOnce, and in step.write. What does not depend on
// PostgreSQL is in internal/sqlstore.
package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// connections is how many a store opens at most, unless the URL says pool_max_conns.
const connections = 16

// A Store is a session.Service in a PostgreSQL database. Make one with Open.
type Store struct {
	pool   *pgxpool.Pool
	conns  int // in the pool, at most
	leases sqlstore.Leases

	watchers store.Watchers[int64]       // by sid
	sids     map[session.Key]*watchedSid // of the watched sessions; guarded by mu
	snapshot string                      // that the watchers' goroutine saw last

	index indexing // what is to be taken into the index

	open context.Context // done, with the cause session.ErrClosed, once the store is closed

	close      func() error
	mu         sync.Mutex
	closed     bool           // no goroutine is started any more
	goroutines sync.WaitGroup // goroutines; added to under mu, while not closed
}

var _ session.Service = (*Store)(nil)

// Open connects to a PostgreSQL database, brings the schema up to date and returns the store. url is
// "postgres://user:password@host:5432/database" with the parameters of pgx and its pool:
//
//	pool_max_conns=16                     connections at most
//	default_query_exec_mode=exec          for PgBouncer in transaction mode, before version 1.21
//	search_path=name                      the schema for the tables
//
// A schema that a newer program made is session.ErrNewerSchema; so is every operation on an open store from
// the moment on at which a newer program has migrated the schema. Migrating needs the right to create tables,
// and a connection that no PgBouncer in transaction mode is in the way of; once the schema is there, reading
// and writing the tables is all it takes. ctx is for opening only.
func Open(ctx context.Context, url string) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, unreadable(url, err)
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = connections
	}
	asked := pin(config)
	pool, err := connect(ctx, config)
	if err != nil && refused(err) {
		for _, name := range asked {
			delete(config.ConnConfig.RuntimeParams, name)
		}
		pool, err = connect(ctx, config)
	}
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	open, cancel := context.WithCancelCause(context.Background())
	s := &Store{
		pool:  pool,
		conns: int(config.MaxConns),
		open:  open,
		sids:  map[session.Key]*watchedSid{},
	}
	s.leases.Table = leaseTable{s}
	s.leases.Time = leaseTime
	s.leases.Enter = s.enter
	s.watchers.Poll = s.poll
	s.close = sync.OnceValue(func() error {
		// From here on no goroutine is started.
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		// End what waits, tell the holders of leases, and give the leases back.
		cancel(session.ErrClosed)
		s.watchers.Close()
		s.leases.Close()
		s.goroutines.Wait()
		s.pool.Close()
		return nil
	})
	return s, nil
}

// connect opens a pool on a database that is as it should be.
func connect(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err = encoding(ctx, pool); err == nil {
		err = migrate(ctx, pool, migrations)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// Close ends the leases, waits for what is under way and closes the connections.
func (s *Store) Close() error { return s.close() }

// enter begins an operation that may wait. Its context is done when the store is closed, too.
func (s *Store) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	if err := s.check(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.open, func() { cancel(session.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}, nil
}

// spawn starts a goroutine that Close waits for. It reports false if the store is closed.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.goroutines.Go(f)
	return true
}

// micros splits a time into microseconds since 1970 and the nanoseconds beyond.
func micros(t time.Time) (us int64, ns int16) {
	us = t.UnixMicro()
	return us, int16(t.Sub(time.UnixMicro(us)))
}
