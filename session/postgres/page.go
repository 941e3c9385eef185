package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
)

// A page of events is read at once and held in memory: no connection and no transaction is held while
// the caller works. It ends early after the event that takes it beyond pageBytes.
const (
	pageEvents = 256
	pageBytes  = 8 << 20
)

// page reads the first of the events at those positions; one at least.
func (s *Store) page(ctx context.Context, key session.Key, sid int64, p []int64) (page [][]byte, err error) {
	err = s.again(ctx, func() (err error) {
		page, err = readPage(ctx, s.pool, sid, p)
		return err
	})
	if err == nil && len(page) == 0 {
		var there bool
		err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM plughook_sessions WHERE sid = $1)`, sid).Scan(&there)
		if err == nil && !there {
			return nil, notFound(key)
		} else if err == nil {
			err = fmt.Errorf("the event at %d is missing: the tables were changed by hand", p[0])
		}
	}
	return page, s.fail(ctx, "read session "+key.String(), err)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// readPage reads the first of the events at those positions, which are ascending but for the first.
func readPage(ctx context.Context, db querier, sid int64, p []int64) ([][]byte, error) {
	from, to := runs(p)
	rows, err := db.Query(ctx, pageQuery, sid, from, to, p[0], pageBytes)
	if err != nil {
		return nil, err
	}
	page := make([][]byte, 0, len(p))
	var seq int64
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &data}, func() error {
		if len(page) < len(p) && seq == p[len(page)] {
			page = append(page, data)
			return nil
		}
		return errHole
	})
	if err != nil && !errors.Is(err, errHole) {
		return nil, err
	}
	return page, nil
}

var errHole = errors.New("an event is missing")

// Ranges, and each one read by itself: a list of positions or a join would leave the planner the choice
// to read the whole log and pick from that.
const pageQuery = `
	SELECT seq, data FROM (
		SELECT e.seq, e.data, sum(octet_length(e.data)) OVER (ORDER BY e.seq <> $4, e.seq ROWS UNBOUNDED PRECEDING) - octet_length(e.data) AS before
		FROM unnest($2::bigint[], $3::bigint[]) AS r(first, last), LATERAL (
			SELECT seq, data FROM plughook_events WHERE sid = $1 AND seq >= r.first AND seq <= r.last OFFSET 0
		) e
	) e WHERE before < $5::bigint ORDER BY seq <> $4, seq`
