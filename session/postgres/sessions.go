package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Create implements session.Service.
func (s *Store) Create(ctx context.Context, key session.Key, state map[string]any) (*session.Session, error) {
	key, initial, err := store.Create(key, state)
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
			if err := current(ctx, s.pool); err != nil {
				return err
			}
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
		SELECT $1::bigint, $2::text, $3::text, $4::text, $5::bytea[], $6::bytea[] WHERE ` + schemaFits + `
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

// SetTimes implements session.Service.
func (s *Store) SetTimes(ctx context.Context, key session.Key, created, updated time.Time) error {
	if err := errors.Join(session.CheckTime(created), session.CheckTime(updated)); err != nil {
		return err
	}
	given := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	var sid int64
	return s.on(ctx, "set the times of", key, func() error {
		err := s.pool.QueryRow(ctx, `
			UPDATE plughook_sessions SET created = coalesce($4, created), updated = coalesce($5, updated)
			WHERE app = $1 AND usr = $2 AND id = $3 AND `+schemaFits+` RETURNING sid`,
			key.App, key.User, key.ID, given(created), given(updated)).Scan(&sid)
		if none(err) {
			return cmp.Or(current(ctx, s.pool), err)
		}
		return err
	})
}

// Get implements session.Service.
func (s *Store) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	owners := [][]byte{[]byte(store.Owner(key, session.AppPrefix)), []byte(store.Owner(key, session.UserPrefix))}
	var c *session.Session
	err := s.on(ctx, "get", key, func() error {
		var r row
		var version int64
		// One statement sees one snapshot.
		err := s.pool.QueryRow(ctx, `
			SELECT `+schemaVersion+`,
				`+rowColumns+`, s.initial_keys, s.initial_values, k.keys, k.values,
				CASE WHEN `+leaseHeld+` THEN s.holder ELSE '' END,
				CASE WHEN lease IS NOT NULL AND NOT `+leaseHeld+` THEN s.holder ELSE '' END
			FROM plughook_sessions s, LATERAL (
				SELECT array_agg(a.key) AS keys, array_agg(a.value) AS values FROM (
					SELECT key, value FROM plughook_state WHERE sid = s.sid
					UNION ALL
					SELECT key, value FROM plughook_shared WHERE owner = ANY ($4::bytea[])
				) a
			) k
			WHERE s.app = $1 AND s.usr = $2 AND s.id = $3`, key.App, key.User, key.ID, owners).
			Scan(slices.Concat([]any{&version}, r.columns(),
				[]any{&r.initial.keys, &r.initial.values, &r.state.keys, &r.state.values, &r.Holder, &r.CutOff})...)
		if err == nil {
			err = fits(version)
		}
		if err == nil {
			c, err = r.session(true)
		}
		return err
	})
	return c, err
}

// Delete implements session.Service.
func (s *Store) Delete(ctx context.Context, key session.Key) error {
	var sid int64 // 0 until the session is found
	err := s.on(ctx, "delete", key, func() error {
		err := pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, `
				DELETE FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3 AND `+schemaFits+` RETURNING sid`,
				key.App, key.User, key.ID).Scan(&sid)
			if none(err) {
				return cmp.Or(current(ctx, tx), err)
			}
			if err != nil {
				return err
			}
			// Statements of their own, sent at once: they see what appends had committed when they let go
			// of the row, and the last what the index had when it let go of the first.
			b := &pgx.Batch{}
			tables := []string{"unindexed", "events", "marks", "state", "undo", "words"}
			for _, table := range []string{"hooks", "notices"} {
				if is, err := hasTable(ctx, tx, table); err != nil {
					return err
				} else if is {
					tables = append(tables, table)
				}
			}
			for _, table := range tables {
				b.Queue(`DELETE FROM plughook_`+table+` WHERE sid = $1`, sid)
			}
			return tx.SendBatch(ctx, b).Close()
		})
		if none(err) && sid != 0 { // deleted by an attempt whose connection broke after its commit
			return nil
		}
		return err
	})
	if err == nil {
		s.watchers.Deleted(sid)
	}
	return err
}

// List implements session.Service. It reads pages of sessions, so what is created or deleted meanwhile
// may be missing or there.
func (s *Store) List(ctx context.Context, app, user string) iter.Seq2[*session.Session, error] {
	return func(yield func(*session.Session, error) bool) {
		last := int64(0)
		next := func() (page []*session.Session, more bool, err error) {
			err = s.do(ctx, "list sessions", func() (err error) {
				if err := current(ctx, s.pool); err != nil {
					return err
				}
				page, err = s.list(ctx, app, user, last)
				return err
			})
			if len(page) > 0 {
				last = page[len(page)-1].Number
			}
			return page, len(page) == sqlstore.PageSessions, err
		}
		sqlstore.Pages(ctx, next)(yield)
	}
}

// list reads the page of sessions after the one numbered after.
func (s *Store) list(ctx context.Context, app, user string, after int64) ([]*session.Session, error) {
	name := session.Key{App: cmp.Or(app, "x"), User: cmp.Or(user, "x"), ID: "x"}
	if app == "" && user != "" || name.Check(false) != nil {
		return nil, nil // nobody has such a name
	}
	where := ""
	args := []any{after, sqlstore.PageSessions}
	switch {
	case user != "":
		where = ` AND app || U&'\0001' || usr = $3`
		args = append(args, app+"\x01"+user)
	case app != "":
		where = ` AND app = $3`
		args = append(args, app)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+rowColumns+`, initial_keys, initial_values FROM plughook_sessions s WHERE sid > $1`+where+` ORDER BY sid LIMIT $2`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(rows pgx.CollectableRow) (*session.Session, error) {
		var r row
		if err := rows.Scan(append(r.columns(), &r.initial.keys, &r.initial.values)...); err != nil {
			return nil, err
		}
		return r.session(false)
	})
}

// row is a session as it is read.
type row struct {
	session.Session
	initial, state pairs
}

// rowColumns are the columns of a row, of a table that is named s.
const rowColumns = "s.sid, s.app, s.usr, s.id, s.head, s.frontier, s.created, s.updated"

// columns returns where to scan rowColumns to.
func (r *row) columns() []any {
	return []any{&r.Number, &r.App, &r.User, &r.ID, &r.Position, &r.Frontier, &r.Created, &r.Updated}
}

// session decodes the row.
func (r *row) session(state bool) (*session.Session, error) {
	r.Created = r.Created.In(time.UTC)
	r.Updated = r.Updated.In(time.UTC)
	var err error
	if r.Initial, err = r.initial.decode(); err == nil && state {
		r.State, err = r.state.decode()
	}
	if err != nil {
		return nil, fmt.Errorf("state of session %s: %w", r.Key, err)
	}
	return &r.Session, nil
}
