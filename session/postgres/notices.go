package postgres

import (
	"bytes"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
)

// The notices: a row for each. The table is made with the first one; that needs the right to make tables.
var createNotices = []string{
	`CREATE TABLE IF NOT EXISTS plughook_notices (sid bigint NOT NULL, id bytea NOT NULL, due timestamptz NOT NULL, data bytea NOT NULL, PRIMARY KEY (sid, id))`,
	`CREATE INDEX IF NOT EXISTS plughook_notices_due ON plughook_notices (due)`,
}

// How a notice is written. It waits for a deletion of the session that is under way, and for no append.
const (
	noticeOf = `
		WITH s AS (SELECT sid FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3 FOR KEY SHARE)`
	insertNotice = noticeOf + `, done AS (
			INSERT INTO plughook_notices AS n (sid, id, due, data)
			SELECT sid, $4, clock_timestamp() + $5::interval, $6 FROM s
			ON CONFLICT (sid, id) DO `
	updateNotice = noticeOf + `, done AS (
			UPDATE plughook_notices n SET due = clock_timestamp() + $5::interval, data = $6
			FROM s WHERE n.sid = s.sid AND n.id = $4 AND n.data = $7 RETURNING 1)`
	deleteNotice = noticeOf + `, done AS (
			DELETE FROM plughook_notices n USING s WHERE n.sid = s.sid AND n.id = $4 AND n.data = $5 RETURNING 1)`
	wasNoticeDone = ` SELECT EXISTS (SELECT 1 FROM done) FROM s`
)

// KeepNotice implements session.NoticeKeeper.
func (s *Store) KeepNotice(ctx context.Context, n session.Notice, in time.Duration) error {
	const statement = insertNotice + `UPDATE SET due = excluded.due, data = excluded.data RETURNING 1)` + wasNoticeDone
	_, err := s.putNotice(ctx, n, statement, in, n.Data)
	return err
}

// ReplaceNotice implements session.NoticeKeeper. If the connection breaks, it may have changed the notice although
// it reports that it has not.
func (s *Store) ReplaceNotice(ctx context.Context, n session.Notice, data []byte, in time.Duration) (bool, error) {
	switch {
	case data == nil:
		return s.putNotice(ctx, n, deleteNotice+wasNoticeDone, n.Data)
	case n.Data == nil:
		return s.putNotice(ctx, n, insertNotice+`NOTHING RETURNING 1)`+wasNoticeDone, in, data)
	}
	return s.putNotice(ctx, n, updateNotice+wasNoticeDone, in, data, n.Data)
}

func (s *Store) putNotice(ctx context.Context, n session.Notice, statement string, args ...any) (done bool, err error) {
	err = s.on(ctx, "keep a notice of", n.Key, func() error {
		if err := s.makeTable(ctx, "notices", createNotices); err != nil {
			return err
		}
		return s.pool.QueryRow(ctx, statement,
			append([]any{n.Key.App, n.Key.User, n.Key.ID, []byte(n.ID)}, args...)...).Scan(&done)
	})
	return done, err
}

// TakeNotices implements session.NoticeKeeper.
func (s *Store) TakeNotices(
	ctx context.Context, app string, again time.Duration, limit int,
) (list []session.Notice, err error) {
	err = s.do(ctx, "take notices", func() error {
		list = nil
		if is, err := hasTable(ctx, s.pool, "notices"); err != nil || !is {
			return err
		}
		rows, err := s.pool.Query(ctx, `
			WITH due AS (
				SELECT n.sid, n.id, n.due, s.usr, s.id AS session
				FROM plughook_notices n JOIN plughook_sessions s ON s.sid = n.sid
				WHERE n.due <= clock_timestamp() AND s.app = $1
				ORDER BY n.due LIMIT $2 FOR UPDATE OF n SKIP LOCKED),
			taken AS (
				UPDATE plughook_notices n SET due = clock_timestamp() + $3::interval FROM due
				WHERE n.sid = due.sid AND n.id = due.id RETURNING n.sid, n.id, n.data)
			SELECT due.usr, due.session, taken.id, taken.data FROM taken JOIN due USING (sid, id) ORDER BY due.due`,
			app, limit, again)
		if err != nil {
			return err
		}
		var user, id string
		var notice, data []byte
		_, err = pgx.ForEachRow(rows, []any{&user, &id, &notice, &data}, func() error {
			key := session.Key{App: app, User: user, ID: id}
			list = append(list, session.Notice{Key: key, ID: string(notice), Data: bytes.Clone(data)})
			return nil
		})
		return err
	})
	return list, err
}
