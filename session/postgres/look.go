package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session/store"
)

// storedEvent is an event that is in the log.
type storedEvent struct {
	seq  int64
	data []byte
}

// lastTurn is what a session's row says of turns.
type lastTurn struct {
	fence          int64
	given, running bool // not given back; and its time has not run out
}

// look locks the session and reads its row, and then those of the records that are in the log, by ID.
func (t *step) look(records []*store.Record) (turn lastTurn, stored map[string]storedEvent, err error) {
	stored = map[string]storedEvent{}
	b := &pgx.Batch{}
	b.Queue(`
		SELECT sid, head, frontier, epoch, lease IS NOT NULL, lease IS NOT NULL AND lease > clock_timestamp()
		FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3 FOR NO KEY UPDATE`,
		t.key.App, t.key.User, t.key.ID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&t.sid, &t.head, &t.frontier, &turn.fence, &turn.given, &turn.running)
	})
	if len(records) > 0 {
		b.Queue(`
			SELECT e.id, e.seq, e.data
			FROM (SELECT int8send(sid) AS prefix FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3) s,
				unnest($4::bytea[]) AS r(id),
				LATERAL (SELECT id, seq, data FROM plughook_events WHERE int8send(sid) || id = s.prefix || r.id OFFSET 0) e`,
			t.key.App, t.key.User, t.key.ID, columnsOf(records).ids).Query(func(rows pgx.Rows) error {
			var id []byte
			var e storedEvent
			_, err := pgx.ForEachRow(rows, []any{&id, &e.seq, &e.data}, func() error {
				stored[string(id)] = e
				return nil
			})
			return err
		})
	}
	err = t.tx.SendBatch(t.ctx, b).Close()
	return turn, stored, err
}
