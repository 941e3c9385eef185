package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

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
	size := 0
	for _, c := range initial {
		size += len(c.Key) + len(c.Value)
	}
	var made *session.Session
	err = s.write(ctx, size, func(c *conn) (err error) {
		made, err = create(c, key, initial)
		return err
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// write runs do in a transaction of the writer.
func (s *Store) write(ctx context.Context, size int, do func(*conn) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.explain(s.writer.submit(ctx, &request{do: do, size: size}))
}

// create makes a session.
func create(c *conn, key session.Key, initial []store.Change) (*session.Session, error) {
	now := time.Now().UnixNano()
	made, err := c.exec("INSERT INTO sessions (app, usr, id, created, updated) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		key.App, key.User, key.ID, now, now)
	if err != nil {
		return nil, err
	}
	if made == 0 {
		return nil, &session.KeyError{Key: key, Err: session.ErrExists}
	}
	r, err := find(c, key)
	if err != nil {
		return nil, err
	}
	if r.sid > maxSid {
		return nil, errors.New("sqlite: the file has had 2147483647 sessions, which is all it can number: begin a new file")
	}
	for _, ch := range initial {
		if _, err := c.exec("INSERT INTO initial (sid, key, value) VALUES (?, ?, ?)", r.sid, ch.Key, []byte(ch.Value)); err != nil {
			return nil, err
		}
		if err := put(c, r.sid, key, ch.Key, ch.Value); err != nil {
			return nil, err
		}
	}
	m := r.session(key)
	m.Initial, m.State, err = states(c, r.sid, key)
	return m, err
}

// SetTimes implements session.Service.
func (s *Store) SetTimes(ctx context.Context, key session.Key, created, updated time.Time) error {
	if err := errors.Join(session.CheckTime(created), session.CheckTime(updated)); err != nil {
		return err
	}
	return s.write(ctx, 0, func(c *conn) error {
		r, err := find(c, key)
		if err != nil {
			return err
		}
		for column, t := range map[string]time.Time{"created": created, "updated": updated} {
			if err == nil && !t.IsZero() {
				_, err = c.exec("UPDATE sessions SET "+column+" = ? WHERE sid = ?", t.UnixNano(), r.sid)
			}
		}
		return err
	})
}

// Get implements session.Service.
func (s *Store) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	var got *session.Session
	err := s.view(ctx, func(c *conn) error {
		r, err := find(c, key)
		if err != nil {
			return err
		}
		got = r.session(key)
		if r.lease.held(s.ttl) {
			got.Holder = r.lease.holder
		} else if r.lease.until != 0 {
			got.CutOff = r.lease.holder
		}
		got.Initial, got.State, err = states(c, r.sid, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

// List implements session.Service. It reads page by page and leaves out sessions that are deleted
// meanwhile.
func (s *Store) List(ctx context.Context, app, user string) iter.Seq2[*session.Session, error] {
	return func(yield func(*session.Session, error) bool) {
		after := int64(0)
		last := int64(-1) // the last session that counts: none that is made from now on
		next := func() (page []*session.Session, more bool, err error) {
			err = s.view(ctx, func(c *conn) (err error) {
				if last < 0 {
					if _, err := c.row("SELECT coalesce(max(sid), 0) FROM sessions", nil, &last); err != nil {
						return err
					}
				}
				page, err = list(c, app, user, after, last)
				return err
			})
			if len(page) < sqlstore.PageSessions {
				return page, false, err
			}
			after = page[len(page)-1].Number
			return page, after < last, err
		}
		sqlstore.Pages(ctx, next)(yield)
	}
}

// How a page of a list is selected; each has an index that ends in sid.
const (
	listAll  = "sid > ?1 AND sid <= ?2"
	listApp  = "app = ?3 AND " + listAll
	listUser = "app = ?3 AND usr = ?4 AND " + listAll
)

func listQuery(where string) string {
	return fmt.Sprintf("SELECT %s, app, usr, id FROM sessions WHERE %s ORDER BY sid LIMIT %d", rowColumns, where, sqlstore.PageSessions)
}

// list returns the page of sessions after the one numbered after, none beyond the one numbered last.
func list(c *conn, app, user string, after, last int64) ([]*session.Session, error) {
	where := listAll
	args := []any{after, last}
	switch {
	case user != "":
		where = listUser
		args = append(args, app, user)
	case app != "":
		where = listApp
		args = append(args, app)
	}
	var page []*session.Session
	var r row
	var key session.Key
	err := c.each(listQuery(where), args, append(r.columns(), &key.App, &key.User, &key.ID), func() error {
		page = append(page, r.session(key))
		return nil
	})
	for _, s := range page {
		if err == nil {
			err = initialState(c, s.Number, s.Initial)
		}
	}
	return page, err
}

// Delete implements session.Service.
func (s *Store) Delete(ctx context.Context, key session.Key) error {
	var sid int64
	err := s.write(ctx, 0, func(c *conn) error {
		r, err := find(c, key)
		if err != nil {
			return err
		}
		sid = r.sid
		if err := forget(c, sid); err != nil {
			return err
		}
		tables := []string{"sessions", "initial", "ids", "marks", "state", "undo"}
		for _, table := range []string{"hooks", "notices"} {
			if is, err := hasTable(c, table); err != nil {
				return err
			} else if is {
				tables = append(tables, table)
			}
		}
		for _, table := range tables {
			if _, err := c.exec("DELETE FROM "+table+" WHERE sid = ?", r.sid); err != nil {
				return err
			}
		}
		_, err = c.exec("DELETE FROM events WHERE pos BETWEEN ? AND ?", pos(r.sid, 0), pos(r.sid, maxSeq))
		return err
	})
	if err == nil {
		s.watchers.Deleted(sid)
	}
	return err
}
