// Package postgres keeps sessions in a PostgreSQL database, for as many processes as like to share it.
//
// Its tables have the prefix plughook_ and live beside others, in the schema that the connection's
// search_path names first. Open makes and migrates them. An ordinary append is one round trip and one
// commit; reading the live view reads the live events only, whatever the length of the log.
//
// Leases are kept in the database, by the database's clock: a process that dies or is cut off loses its
// leases after three seconds, and what it still tries to append is refused.
package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// connections is how many a store opens at most, unless the URL says pool_max_conns.
const connections = 16

// A Store is a session.Service in a PostgreSQL database. Make one with Open.
type Store struct {
	pool   *pgxpool.Pool
	conns  int             // in the pool, at most
	queues store.KeyedLock // of those who wait for a lease, by session

	watchers store.Watchers[int64]       // by sid
	sids     map[session.Key]*watchedSid // of the watched sessions; guarded by mu
	snapshot string                      // that the watchers' goroutine saw last

	index indexing // what is to be taken into the index

	open context.Context // done, with the cause session.ErrClosed, once the store is closed

	close  func() error
	mu     sync.Mutex
	leases map[*lease]struct{} // those that are held; nil once the store is closed
	work   sync.WaitGroup      // goroutines; added to under mu, while leases is not nil
}

var _ session.Service = (*Store)(nil)

// Open connects to a PostgreSQL database, brings the schema up to date and returns the store. url is
// "postgres://user:password@host:5432/database" with the parameters of pgx and its pool:
//
//	pool_max_conns=16                     connections at most
//	default_query_exec_mode=exec          for PgBouncer in transaction mode, before version 1.21
//	search_path=name                      the schema for the tables
//
// A schema that a newer program made is session.ErrNewerSchema; so is every operation on an open store from the
// moment on at which a newer program has migrated the schema. Migrating needs the right to create
// tables, and a connection that no PgBouncer in transaction mode is in the way of; once the schema is
// there, reading and writing the tables is all it takes. ctx is for opening only.
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
		pool:   pool,
		conns:  int(config.MaxConns),
		open:   open,
		leases: map[*lease]struct{}{},
		sids:   map[session.Key]*watchedSid{},
	}
	s.watchers.Look = s.look
	s.close = sync.OnceValue(func() error {
		// From here on no lease is taken and no goroutine started.
		s.mu.Lock()
		held := s.leases
		s.leases = nil
		s.mu.Unlock()
		// End what waits, tell the holders of leases, and give the leases back.
		cancel(session.ErrClosed)
		s.watchers.Close()
		for l := range held {
			l.lose()
			l.release()
		}
		s.work.Wait()
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

// micros splits a time into microseconds since 1970 and the nanoseconds beyond.
func micros(t time.Time) (us int64, ns int16) {
	us = t.UnixMicro()
	return us, int16(t.Sub(time.UnixMicro(us)))
}
