package sqlite

import (
	"bytes"
	"context"
	"time"

	"github.com/plughook/plughook/session"
)

// The notices: a row for each. The table is made with the first one. A store's due is in nanoseconds since 1970.
var createNotices = []string{
	"CREATE TABLE IF NOT EXISTS notices (sid INTEGER NOT NULL, id BLOB NOT NULL, due INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (sid, id)) WITHOUT ROWID",
	"CREATE INDEX IF NOT EXISTS notices_due ON notices (due)",
}

// KeepNotice implements session.NoticeKeeper.
func (s *Store) KeepNotice(ctx context.Context, n session.Notice, in time.Duration) error {
	_, err := s.putNotice(ctx, n, n.Data, in, func(*conn, int64) (bool, error) { return true, nil })
	return err
}

// ReplaceNotice implements session.NoticeKeeper.
func (s *Store) ReplaceNotice(ctx context.Context, n session.Notice, data []byte, in time.Duration) (bool, error) {
	return s.putNotice(ctx, n, data, in, func(c *conn, sid int64) (bool, error) {
		var now []byte
		_, err := c.row("SELECT data FROM notices WHERE sid = ? AND id = ?", []any{sid, []byte(n.ID)}, &now)
		return bytes.Equal(now, n.Data), err
	})
}

// putNotice writes or deletes a notice, if a condition is met.
func (s *Store) putNotice(
	ctx context.Context, n session.Notice, data []byte, in time.Duration, wanted func(*conn, int64) (bool, error),
) (done bool, err error) {
	err = s.write(ctx, len(data), func(c *conn) error {
		done = false
		r, err := find(c, n.Key)
		if err == nil {
			err = makeTable(c, "notices", createNotices...)
		}
		if err == nil {
			done, err = wanted(c, r.sid)
		}
		switch {
		case err != nil || !done:
			return err
		case data == nil:
			_, err = c.exec("DELETE FROM notices WHERE sid = ? AND id = ?", r.sid, []byte(n.ID))
		default:
			_, err = c.exec("INSERT OR REPLACE INTO notices (sid, id, due, data) VALUES (?, ?, ?, ?)",
				r.sid, []byte(n.ID), time.Now().Add(in).UnixNano(), data)
		}
		return err
	})
	return done, err
}

const dueNotices = `
	SELECT n.sid, n.id, n.data, s.app, s.usr, s.id FROM notices n JOIN sessions s ON s.sid = n.sid
	WHERE n.due <= ? AND s.app = ? ORDER BY n.due LIMIT ?`

// TakeNotices implements session.NoticeKeeper.
func (s *Store) TakeNotices(
	ctx context.Context, app string, again time.Duration, limit int,
) (list []session.Notice, err error) {
	var sids []int64
	read := func(c *conn) error {
		list, sids = nil, nil
		if is, err := hasTable(c, "notices"); err != nil || !is {
			return err
		}
		var sid int64
		var key session.Key
		var id, data []byte
		return c.each(dueNotices, []any{time.Now().UnixNano(), app, limit},
			[]any{&sid, &id, &data, &key.App, &key.User, &key.ID}, func() error {
				sids = append(sids, sid)
				list = append(list, session.Notice{Key: key, ID: string(id), Data: bytes.Clone(data)})
				return nil
			})
	}
	// Usually nothing is due, and nothing has to be written.
	if err := s.view(ctx, read); err != nil || len(list) == 0 {
		return nil, err
	}
	err = s.write(ctx, 0, func(c *conn) error {
		err := read(c)
		for i, n := range list {
			if err == nil {
				_, err = c.exec("UPDATE notices SET due = ? WHERE sid = ? AND id = ?",
					time.Now().Add(again).UnixNano(), sids[i], []byte(n.ID))
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
