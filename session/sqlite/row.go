package sqlite

import (
	"crypto/sha256"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// row is a session's row.
type row struct {
	sid      int64 // numbers the session
	position int64
	frontier int64
	created  int64 // nanoseconds since 1970, as updated
	updated  int64
	lease    lastLease
}

// rowColumns are the columns of a row; the column turns counts the session's leases.
const rowColumns = "sid, position, frontier, created, updated, (sid << 32) | turns, lease_until, lease_wall, lease_clock, lease_holder"

// columns returns where to scan rowColumns to.
func (r *row) columns() []any {
	return []any{
		&r.sid, &r.position, &r.frontier, &r.created, &r.updated,
		&r.lease.fence, &r.lease.until, &r.lease.wall, &r.lease.clock, &r.lease.holder,
	}
}

// find returns the row of a session, or ErrNotFound.
func find(c *conn, key session.Key) (*row, error) {
	var r row
	ok, err := c.row("SELECT "+rowColumns+" FROM sessions WHERE app = ? AND usr = ? AND id = ?",
		[]any{key.App, key.User, key.ID}, r.columns()...)
	if err == nil && !ok {
		err = store.NotFound(key)
	}
	return &r, err
}

// session returns the row as a session, without its states.
func (r *row) session(key session.Key) *session.Session {
	return &session.Session{
		Key:      key,
		Number:   r.sid,
		Initial:  map[string]any{},
		Position: r.position,
		Frontier: r.frontier,
		Created:  time.Unix(0, r.created).UTC(),
		Updated:  time.Unix(0, r.updated).UTC(),
	}
}

// Positions in the table events, and fences: numbers of which no two sessions have the same, not even
// one that is made again after it was deleted.
const (
	seqBits = 32
	maxSeq  = 1<<seqBits - 1
	maxSid  = 1<<(63-seqBits) - 1
)

// pos returns the number of an event in the table events.
func pos(sid, seq int64) int64 { return sid<<seqBits | seq }

// spansAt returns the spans after the last compaction or rewind at or before seq.
func spansAt(c *conn, sid, seq int64) (store.Spans, error) {
	var data []byte
	var spans store.Spans
	ok, err := c.row("SELECT spans FROM marks WHERE sid = ? AND seq <= ? ORDER BY seq DESC LIMIT 1", []any{sid, seq}, &data)
	if err == nil && ok {
		err = json.Unmarshal(data, &spans)
	}
	return spans, err
}

// states returns a session's initial state and the state now.
func states(c *conn, sid int64, key session.Key) (initial, now map[string]any, err error) {
	initial = map[string]any{}
	now = map[string]any{}
	err = c.values(`SELECT 0, key, value FROM initial WHERE sid = ?1
		UNION ALL SELECT 1, key, value FROM shared WHERE owner IN (?2, ?3)
		UNION ALL SELECT 1, key, value FROM state WHERE sid = ?1`,
		[]any{sid, store.Owner(key, session.AppPrefix), store.Owner(key, session.UserPrefix)}, initial, now)
	return initial, now, err
}

// values reads a query's rows of which, key and value into the maps.
func (c *conn) values(query string, args []any, maps ...map[string]any) error {
	var which int
	var key string
	var data []byte
	return c.each(query, args, []any{&which, &key, &data}, func() (err error) {
		maps[which][key], err = session.DecodeValue(data)
		return err
	})
}

// initialState reads a session's initial state into a map.
func initialState(c *conn, sid int64, state map[string]any) error {
	return c.values("SELECT 0, key, value FROM initial WHERE sid = ?", []any{sid}, state)
}

// idKey returns what stands for an event id in the table ids: 16 bytes for a UUID as it is usually
// written, so that the table stays small and UUIDv7 ids lie in the order they were made, and a hash of
// 20 bytes for anything else. The lengths keep the two apart.
func idKey(id string) []byte {
	if u, err := uuid.Parse(id); err == nil && u.String() == id {
		return u[:]
	}
	h := sha256.Sum256([]byte(id))
	return h[:20]
}
