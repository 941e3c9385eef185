package postgres

import (
	"context"
	"encoding/json"
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

// Read implements session.Service. The log is read as it stands at the call; if the session is deleted
// meanwhile, Read ends with ErrNotFound.
func (s *Store) Read(ctx context.Context, key session.Key, sel session.Selection) iter.Seq2[*session.Event, error] {
	return s.read(ctx, key, sel, 0)
}

// read reads the session under a key. If only the session of a number is meant, another one under its key is
// ErrNotFound; 0 means any.
func (s *Store) read(
	ctx context.Context, key session.Key, sel session.Selection, only int64,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		sid := int64(0)
		var left []int64      // the positions to read next, no more than a page's
		var ranges [][2]int64 // those after them
		next := func() (page []sqlstore.StoredEvent, more bool, err error) {
			err = s.check(ctx)
			if err == nil && sid == 0 {
				sid, ranges, err = s.find(ctx, key, sel)
				if err == nil && only != 0 && sid != only {
					err = store.NotFound(key)
				}
			}
			if len(left) == 0 {
				left, ranges = take(ranges, pageEvents)
			}
			if err == nil && len(left) > 0 {
				page, err = s.page(ctx, key, sid, left)
				left = left[len(page):]
			}
			return page, len(left) > 0 || len(ranges) > 0, err
		}
		sqlstore.Events(ctx, next)(yield)
	}
}

// find returns the ranges of positions that are selected, in their order.
func (s *Store) find(ctx context.Context, key session.Key, sel session.Selection) (sid int64, ranges [][2]int64, err error) {
	var version, head int64
	var data []byte
	var times []int64
	err = s.on(ctx, "read", key, func() error {
		err := s.pool.QueryRow(ctx, `
			SELECT `+schemaVersion+`, s.sid, s.head, (SELECT m.spans FROM plughook_marks m WHERE m.sid = s.sid AND m.seq = s.frontier)
			FROM plughook_sessions s WHERE s.app = $1 AND s.usr = $2 AND s.id = $3`,
			key.App, key.User, key.ID).Scan(&version, &sid, &head, &data)
		if err == nil {
			err = fits(version)
		}
		if err == nil && !sel.Since.IsZero() {
			times, err = s.since(ctx, sid, sel.After, head, sel.Since)
		}
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	var spans store.Spans
	if sel.Live && data != nil {
		if err := json.Unmarshal(data, &spans); err != nil {
			return 0, nil, fmt.Errorf("postgres: live view of session %s: %w", key, err)
		}
	}
	ranges = spans.Select(head, sel)
	if !sel.Since.IsZero() {
		ranges = within(ranges, times)
		if sel.Last > 0 {
			ranges = store.Last(ranges, int64(sel.Last))
		}
	}
	return sid, ranges, nil
}

// since returns the positions of the events with this time or a later one, ascending.
func (s *Store) since(ctx context.Context, sid, after, head int64, t time.Time) ([]int64, error) {
	us, ns := micros(t)
	rows, err := s.pool.Query(ctx, `
		SELECT seq FROM plughook_events
		WHERE sid = $1 AND seq > $2 AND seq <= $3 AND (us, ns) >= ($4::bigint, $5::smallint) ORDER BY seq`, sid, after, head, us, ns)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// A page of events is read at once and held in memory: no connection and no transaction is held while
// the caller works. It ends early after the event that takes it beyond pageBytes.
const (
	pageEvents = 256
	pageBytes  = 1 << 20
)

// page reads the first of the events at those positions; one at least.
func (s *Store) page(ctx context.Context, key session.Key, sid int64, p []int64) (page []sqlstore.StoredEvent, err error) {
	err = s.again(ctx, func() (err error) {
		page, err = readPage(ctx, s.pool, sid, p)
		return err
	})
	if err == nil && len(page) == 0 {
		var there bool
		err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM plughook_sessions WHERE sid = $1)`, sid).Scan(&there)
		if err == nil && !there {
			return nil, store.NotFound(key)
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
func readPage(ctx context.Context, db querier, sid int64, p []int64) ([]sqlstore.StoredEvent, error) {
	from, to := runs(p)
	rows, err := db.Query(ctx, pageQuery, sid, from, to, p[0], pageBytes)
	if err != nil {
		return nil, err
	}
	page := make([]sqlstore.StoredEvent, 0, len(p))
	var seq int64
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &data}, func() error {
		if len(page) < len(p) && seq == p[len(page)] {
			page = append(page, sqlstore.StoredEvent{Seq: seq, Data: data})
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

// runs returns a list of positions as ranges: where each begins and where it ends.
func runs(p []int64) (from, to []int64) {
	for _, seq := range p {
		if n := len(to); n > 0 && to[n-1]+1 == seq {
			to[n-1] = seq
		} else {
			from = append(from, seq)
			to = append(to, seq)
		}
	}
	return from, to
}

// take returns the first n positions of the ranges, and the rest.
func take(ranges [][2]int64, n int) (p []int64, rest [][2]int64) {
	for i, r := range ranges {
		for seq := r[0]; seq <= r[1]; seq++ {
			if len(p) == n {
				return p, append([][2]int64{{seq, r[1]}}, ranges[i+1:]...)
			}
			p = append(p, seq)
		}
	}
	return p, nil
}

// within returns the part of the ranges that is in a list of positions, which is ascending.
func within(ranges [][2]int64, list []int64) [][2]int64 {
	var out [][2]int64
	for _, r := range ranges {
		i, _ := slices.BinarySearch(list, r[0])
		for ; i < len(list) && list[i] <= r[1]; i++ {
			if n := len(out); n > 0 && out[n-1][1]+1 == list[i] {
				out[n-1][1]++
			} else {
				out = append(out, [2]int64{list[i], list[i]})
			}
		}
	}
	return out
}

// Size implements session.Sizer. The length of a value is read without the value; that of an initial state is what it
// takes compressed.
func (s *Store) Size(ctx context.Context, key session.Key) (size session.Size, err error) {
	if err := s.check(ctx); err != nil {
		return size, err
	}
	if key.ID == "" {
		err = s.again(ctx, func() error { // the key has no ID, so it is no session's
			return s.pool.QueryRow(ctx, `
				SELECT ((SELECT coalesce(sum(octet_length(e.data)), 0)
						FROM plughook_sessions s JOIN plughook_events e ON e.sid = s.sid WHERE s.app = $1 AND s.usr = $2) +
					(SELECT coalesce(sum(pg_column_size(initial_keys) + pg_column_size(initial_values)), 0)
						FROM plughook_sessions WHERE app = $1 AND usr = $2) +
					(SELECT coalesce(sum(octet_length(key) + octet_length(value)), 0)
						FROM plughook_shared WHERE owner = $3))::bigint`,
				key.App, key.User, []byte(store.Owner(key, session.UserPrefix))).Scan(&size.Log)
		})
		if err != nil {
			err = s.fail(ctx, "read sessions of user "+key.User, err)
		}
		return size, err
	}
	sid, ranges, err := s.find(ctx, key, session.Selection{Live: true})
	if err != nil {
		return size, err
	}
	var from, to []int64
	for _, r := range ranges {
		from = append(from, r[0])
		to = append(to, r[1])
	}
	err = s.on(ctx, "read", key, func() error {
		return s.pool.QueryRow(ctx, `
			SELECT (SELECT coalesce(sum(octet_length(data)), 0) FROM plughook_events WHERE sid = $1)::bigint,
				(SELECT coalesce(sum(octet_length(e.data)), 0) FROM unnest($2::bigint[], $3::bigint[]) AS r(a, z)
				JOIN plughook_events e ON e.sid = $1 AND e.seq BETWEEN r.a AND r.z)::bigint`, sid, from, to).
			Scan(&size.Log, &size.Live)
	})
	return size, err
}
