package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
)

// The hook calls that are kept: a row for what one session got in one step. The table is made when the first are kept, so a
// store that keeps none has none.
const (
	createHooks = "CREATE TABLE IF NOT EXISTS hooks (n INTEGER PRIMARY KEY, sid INTEGER NOT NULL, time INTEGER NOT NULL, data BLOB NOT NULL)"
	hooksBySID  = "CREATE INDEX IF NOT EXISTS hooks_sid ON hooks (sid)"
	hooksByTime = "CREATE INDEX IF NOT EXISTS hooks_time ON hooks (time)"
)

// hasTable reports whether a table that is made at its first use is there.
func hasTable(c *conn, name string) (is bool, err error) {
	var one int64
	return c.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", []any{name}, &one)
}

// makeTable executes the statements that make a table and its indexes, unless it is there.
func makeTable(c *conn, name string, statements ...string) error {
	is, err := hasTable(c, name)
	for _, statement := range statements {
		if err == nil && !is {
			_, err = c.exec(statement)
		}
	}
	return err
}

// KeepHooks implements session.HookKeeper.
func (s *Store) KeepHooks(ctx context.Context, before time.Time, records map[session.Key][]session.HookRecord) error {
	encoded := map[session.Key][]byte{}
	size := 0
	for key, list := range records {
		data, err := json.Marshal(list, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return err
		}
		encoded[key] = data
		size += len(data)
	}
	return s.write(ctx, size, func(c *conn) error {
		if err := makeTable(c, "hooks", createHooks, hooksBySID, hooksByTime); err != nil {
			return err
		}
		for key, data := range encoded {
			r, err := find(c, key)
			if errors.Is(err, session.ErrNotFound) {
				continue
			}
			if err == nil {
				_, err = c.exec("INSERT INTO hooks (sid, time, data) VALUES (?, ?, ?)", r.sid, time.Now().UnixNano(), data)
			}
			if err != nil {
				return err
			}
		}
		_, err := c.exec("DELETE FROM hooks WHERE time < ?", before.UnixNano())
		return err
	})
}

// Hooks implements session.HookKeeper.
func (s *Store) Hooks(ctx context.Context, key session.Key) (list []session.HookRecord, err error) {
	err = s.view(ctx, func(c *conn) error {
		list = nil
		r, err := find(c, key)
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		is := false
		if err == nil {
			is, err = hasTable(c, "hooks")
		}
		if err != nil || !is {
			return err
		}
		var data []byte
		return c.each("SELECT data FROM hooks WHERE sid = ? ORDER BY n", []any{r.sid}, []any{&data}, func() error {
			var some []session.HookRecord
			if err := json.Unmarshal(data, &some, jsontext.AllowInvalidUTF8(true)); err != nil {
				return err
			}
			list = append(list, some...)
			return nil
		})
	})
	return list, err
}
