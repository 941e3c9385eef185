package postgres

import (
	"cmp"
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
)

// List implements session.Service. It reads pages of sessions, so what is created or deleted meanwhile
// may be missing or there.
func (s *Store) List(ctx context.Context, app, user string) iter.Seq2[*session.Session, error] {
	return func(yield func(*session.Session, error) bool) {
		for last := int64(0); ; {
			var page []*row
			err := s.check(ctx)
			if err == nil {
				err = s.again(ctx, func() (err error) {
					page, err = s.list(ctx, app, user, last)
					return err
				})
				err = s.fail(ctx, "list sessions", err)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range page {
				c, err := r.session(false)
				if err == nil {
					err = context.Cause(ctx)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(c, nil) {
					return
				}
				last = r.sid
			}
			if len(page) < listPage {
				return
			}
		}
	}
}

const listPage = 200

func (s *Store) list(ctx context.Context, app, user string, after int64) ([]*row, error) {
	name := session.Key{App: cmp.Or(app, "x"), User: cmp.Or(user, "x"), ID: "x"}
	if app == "" && user != "" || name.Check(false) != nil {
		return nil, nil // nobody has such a name
	}
	where, args := "", []any{after, listPage}
	switch {
	case user != "":
		where, args = ` AND app || U&'\0001' || usr = $3`, append(args, app+"\x01"+user)
	case app != "":
		where, args = ` AND app = $3`, append(args, app)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT sid, app, usr, id, head, frontier, created, updated, initial_keys, initial_values
		FROM plughook_sessions WHERE sid > $1`+where+` ORDER BY sid LIMIT $2`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(rows pgx.CollectableRow) (*row, error) {
		var r row
		err := rows.Scan(&r.sid, &r.App, &r.User, &r.ID, &r.Position, &r.Frontier, &r.Created, &r.Updated, &r.initial.keys, &r.initial.values)
		return &r, err
	})
}
