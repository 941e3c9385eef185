package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Get implements session.Service.
func (s *Store) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	if key.Check(false) != nil {
		return nil, notFound(key)
	}
	owners := [][]byte{[]byte(store.Owner(key, session.AppPrefix)), []byte(store.Owner(key, session.UserPrefix))}
	var c *session.Session
	err := s.again(ctx, func() error {
		r := row{Session: session.Session{Key: key}}
		// One statement sees one snapshot.
		err := s.pool.QueryRow(ctx, `
			SELECT s.head, s.frontier, s.created, s.updated, s.initial_keys, s.initial_values, k.keys, k.values
			FROM plughook_sessions s, LATERAL (
				SELECT array_agg(a.key) AS keys, array_agg(a.value) AS values FROM (
					SELECT key, value FROM plughook_state WHERE sid = s.sid
					UNION ALL
					SELECT key, value FROM plughook_shared WHERE owner = ANY ($4::bytea[])
				) a
			) k
			WHERE s.app = $1 AND s.usr = $2 AND s.id = $3`, key.App, key.User, key.ID, owners).
			Scan(&r.Position, &r.Frontier, &r.Created, &r.Updated, &r.initial.keys, &r.initial.values, &r.state.keys, &r.state.values)
		if err == nil {
			c, err = r.session(true)
		}
		return err
	})
	if none(err) {
		return nil, notFound(key)
	}
	return c, s.fail(ctx, "get session "+key.String(), err)
}

// Delete implements session.Service.
func (s *Store) Delete(ctx context.Context, key session.Key) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if key.Check(false) != nil {
		return notFound(key)
	}
	found := false
	err := s.again(ctx, func() error {
		return pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
			var sid int64
			err := tx.QueryRow(ctx, `DELETE FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3 RETURNING sid`,
				key.App, key.User, key.ID).Scan(&sid)
			if err != nil {
				return err
			}
			found = true
			// Statements of their own: they see what appends had committed when they let go of the row.
			for _, table := range []string{"events", "marks", "state", "undo"} {
				if _, err := tx.Exec(ctx, `DELETE FROM plughook_`+table+` WHERE sid = $1`, sid); err != nil {
					return err
				}
			}
			return nil
		})
	})
	switch {
	case none(err) && found: // by an attempt whose connection broke after its commit
		return nil
	case none(err):
		return notFound(key)
	}
	return s.fail(ctx, "delete session "+key.String(), err)
}

// row is a session as it is read.
type row struct {
	session.Session
	sid            int64
	initial, state pairs
}

// session decodes the row.
func (r *row) session(state bool) (*session.Session, error) {
	r.Created, r.Updated = r.Created.In(time.UTC), r.Updated.In(time.UTC)
	var err error
	if r.Initial, err = r.initial.decode(); err == nil && state {
		r.State, err = r.state.decode()
	}
	if err != nil {
		return nil, fmt.Errorf("state of session %s: %w", r.Key, err)
	}
	return &r.Session, nil
}

func notFound(key session.Key) error { return &session.KeyError{Key: key, Err: session.ErrNotFound} }
