package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
)

// The hook calls that are kept: a row for what one session got in one step. The table is made when the first are kept, so a
// store that keeps none has none; that needs the right to make tables.
var createHooks = []string{
	`CREATE TABLE IF NOT EXISTS plughook_hooks (n bigserial PRIMARY KEY, sid bigint NOT NULL, time timestamptz NOT NULL, data bytea NOT NULL)`,
	`CREATE INDEX IF NOT EXISTS plughook_hooks_sid ON plughook_hooks (sid)`,
	`CREATE INDEX IF NOT EXISTS plughook_hooks_time ON plughook_hooks (time)`,
}

type rower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// hasTable reports whether a table that is made at its first use is there.
func hasTable(ctx context.Context, q rower, name string) (is bool, err error) {
	err = q.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, "plughook_"+name).Scan(&is)
	return is, err
}

// tablesKey is that of the lock under which such tables are made.
const tablesKey = 0x706c7567686f6f6b

// makeTable executes the statements that make a table and its indexes, unless it is there.
func (s *Store) makeTable(ctx context.Context, name string, statements []string) error {
	is, err := hasTable(ctx, s.pool, name)
	if err != nil || is {
		return err
	}
	return pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(tablesKey))
		for _, statement := range statements {
			if err == nil {
				_, err = tx.Exec(ctx, statement)
			}
		}
		return err
	})
}

// KeepHooks implements session.HookKeeper.
func (s *Store) KeepHooks(ctx context.Context, before time.Time, records map[session.Key][]session.HookRecord) error {
	return s.do(ctx, "keep hook calls", func() error {
		if err := s.makeTable(ctx, "hooks", createHooks); err != nil {
			return err
		}
		b := &pgx.Batch{}
		for key, list := range records {
			data, err := json.Marshal(list, jsontext.AllowInvalidUTF8(true))
			if err != nil {
				return err
			}
			b.Queue(`INSERT INTO plughook_hooks (sid, time, data)
				SELECT sid, clock_timestamp(), $4 FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3`,
				key.App, key.User, key.ID, data)
		}
		b.Queue(`DELETE FROM plughook_hooks WHERE time < $1`, before)
		return s.pool.SendBatch(ctx, b).Close()
	})
}

// Hooks implements session.HookKeeper.
func (s *Store) Hooks(ctx context.Context, key session.Key) (list []session.HookRecord, err error) {
	err = s.do(ctx, "read hook calls", func() error {
		list = nil
		is, err := hasTable(ctx, s.pool, "hooks")
		if err != nil || !is {
			return err
		}
		rows, err := s.pool.Query(ctx, `
			SELECT h.data FROM plughook_hooks h JOIN plughook_sessions s ON s.sid = h.sid
			WHERE s.app = $1 AND s.usr = $2 AND s.id = $3 ORDER BY h.n`, key.App, key.User, key.ID)
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		for _, data := range all {
			var some []session.HookRecord
			err = errors.Join(err, json.Unmarshal(data, &some, jsontext.AllowInvalidUTF8(true)))
			list = append(list, some...)
		}
		return err
	})
	return list, err
}
