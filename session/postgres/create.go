package postgres

import (
	"context"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Create implements session.Service.
func (s *Store) Create(ctx context.Context, key session.Key, state map[string]any) (*session.Session, error) {
	if err := key.Check(true); err != nil {
		return nil, err
	}
	if key.ID == "" {
		key.ID = session.NewID()
	}
	initial, err := store.Initial(state)
	if err != nil {
		return nil, err
	}
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	all, own, shared := split(key, initial)
	// The row's sid is taken first, so that a repetition after a broken connection knows its own row.
	var mine, sid int64
	err = s.again(ctx, func() error {
		if mine == 0 {
			if err := s.pool.QueryRow(ctx, `SELECT nextval('plughook_sessions_sid_seq')`).Scan(&mine); err != nil {
				return err
			}
		}
		err := s.pool.QueryRow(ctx, createSession, mine, key.App, key.User, key.ID, all.keys, all.values,
			own.keys, own.values, shared.owners, shared.keys, shared.values).Scan(&sid)
		if none(err) {
			err = s.pool.QueryRow(ctx, `SELECT sid FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3`,
				key.App, key.User, key.ID).Scan(&sid)
		}
		return err
	})
	switch {
	case none(err), err == nil && sid != mine:
		return nil, &session.KeyError{Key: key, Err: session.ErrExists}
	case err != nil:
		return nil, s.fail(ctx, "create session "+key.String(), err)
	}
	return s.Get(ctx, key)
}

const createSession = `
	WITH s AS (
		INSERT INTO plughook_sessions (sid, app, usr, id, initial_keys, initial_values) OVERRIDING SYSTEM VALUE
		VALUES ($1, $2, $3, $4, $5::bytea[], $6::bytea[])
		ON CONFLICT (app, usr, id) DO NOTHING RETURNING sid
	), own AS (
		INSERT INTO plughook_state (sid, key, value)
		SELECT s.sid, c.key, c.value FROM s, unnest($7::bytea[], $8::bytea[]) AS c(key, value)
	), shared AS (
		INSERT INTO plughook_shared (owner, key, value)
		SELECT c.owner, c.key, c.value
		FROM s, unnest($9::bytea[], $10::bytea[], $11::bytea[]) WITH ORDINALITY AS c(owner, key, value, n)
		ORDER BY c.n -- locks are taken in this order
		ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value
	)
	SELECT sid FROM s`
