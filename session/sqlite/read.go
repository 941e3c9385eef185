package sqlite

import (
	"context"
	"iter"
	"slices"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Read implements session.Service. It reads page by page, and no transaction is open while the loop's
// body runs: a slow one holds up nobody. A session that is deleted meanwhile is ErrNotFound.
func (s *Store) Read(ctx context.Context, key session.Key, sel session.Selection) iter.Seq2[*session.Event, error] {
	return s.read(ctx, key, sel, 0)
}

// read reads the session under a key. If only the session of a number is meant, another one under its key is
// ErrNotFound; 0 means any.
func (s *Store) read(
	ctx context.Context, key session.Key, sel session.Selection, only int64,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		r := reading{key: key, sel: sel, only: only}
		sqlstore.Events(ctx, func() ([]sqlstore.StoredEvent, bool, error) {
			page, err := r.page(ctx, s)
			return page, !r.done, err
		})(yield)
	}
}

// What one page takes.
const (
	pageSeqs  = 512 // positions looked at
	pageBytes = 1 << 20
)

const (
	rangeQuery = "SELECT pos, data FROM events WHERE pos BETWEEN ? AND ? ORDER BY pos"
	sinceQuery = "SELECT pos, data FROM events WHERE pos BETWEEN ? AND ? AND (sec, nsec) >= (?, ?) ORDER BY pos"
	lastQuery  = "SELECT pos FROM events WHERE pos BETWEEN ? AND ? AND (sec, nsec) >= (?, ?) ORDER BY pos DESC LIMIT ?"
)

// reading is how far a Read got. The log only grows, so what is left to read stays as it was planned.
type reading struct {
	key    session.Key
	sel    session.Selection
	only   int64      // the number that the session must have; 0: any
	sid    int64      // 0 before the first page
	ranges [][2]int64 // left to read, in order
	done   bool
}

// page returns the next rows. The first page is of the snapshot that the plan was made from.
func (r *reading) page(ctx context.Context, s *Store) ([]sqlstore.StoredEvent, error) {
	var rows []sqlstore.StoredEvent
	err := s.view(ctx, func(c *conn) error {
		// On a copy: view may call this again.
		next := reading{
			key:    r.key,
			sel:    r.sel,
			only:   r.only,
			sid:    r.sid,
			ranges: slices.Clone(r.ranges),
		}
		if err := next.begin(ctx, c); err != nil {
			return err
		}
		var err error
		rows, err = next.fill(c)
		if err == nil {
			*r = next
		}
		return err
	})
	return rows, err
}

// begin plans the read at its first page; at the others it sees whether the session is still there.
func (r *reading) begin(ctx context.Context, c *conn) error {
	if r.sid == 0 {
		return r.plan(ctx, c)
	}
	ok, err := c.row("SELECT sid FROM sessions WHERE sid = ?", []any{r.sid}, &r.sid)
	if err == nil && !ok {
		err = store.NotFound(r.key)
	}
	return err
}

// plan finds the ranges of positions to read.
func (r *reading) plan(ctx context.Context, c *conn) error {
	row, err := find(c, r.key)
	if err == nil && r.only != 0 && row.sid != r.only {
		err = store.NotFound(r.key)
	}
	if err != nil {
		return err
	}
	var spans store.Spans
	if r.sel.Live {
		if spans, err = spansAt(c, row.sid, row.frontier); err != nil {
			return err
		}
	}
	r.sid = row.sid
	r.ranges = spans.Select(row.position, r.sel)
	if r.sel.Last > 0 && !r.sel.Since.IsZero() {
		return r.last(ctx, c)
	}
	return nil
}

// last narrows the ranges to those of the last events since the selection's time.
func (r *reading) last(ctx context.Context, c *conn) error {
	var kept [][2]int64 // backward
	for left := int64(r.sel.Last); left > 0 && len(r.ranges) > 0; {
		end := &r.ranges[len(r.ranges)-1]
		if err := context.Cause(ctx); err != nil {
			return err
		}
		from := max(end[0], end[1]-pageSeqs+1)
		var p int64
		err := c.each(lastQuery,
			[]any{pos(r.sid, from), pos(r.sid, end[1]), r.sel.Since.Unix(), r.sel.Since.Nanosecond(), left},
			[]any{&p}, func() error {
				p &= maxSeq
				n := len(kept) - 1
				if n >= 0 && kept[n][0] == p+1 {
					kept[n][0] = p
				} else {
					kept = append(kept, [2]int64{p, p})
				}
				left--
				return nil
			})
		if err != nil {
			return err
		}
		end[1] = from - 1
		if end[1] < end[0] {
			r.ranges = r.ranges[:len(r.ranges)-1]
		}
	}
	slices.Reverse(kept)
	r.ranges = kept
	return nil
}

// fill reads the next rows of the ranges.
func (r *reading) fill(c *conn) ([]sqlstore.StoredEvent, error) {
	var rows []sqlstore.StoredEvent
	var row sqlstore.StoredEvent
	size := 0
	for left := int64(pageSeqs); left > 0 && size < pageBytes && len(r.ranges) > 0; {
		g := &r.ranges[0]
		from := g[0]
		to := min(g[1], from+left-1)
		query := rangeQuery
		args := []any{pos(r.sid, from), pos(r.sid, to)}
		if !r.sel.Since.IsZero() {
			query = sinceQuery
			args = append(args, r.sel.Since.Unix(), r.sel.Since.Nanosecond())
		}
		err := c.each(query, args, []any{&row.Seq, &row.Data}, func() error {
			row.Seq &= maxSeq
			if r.sel.Since.IsZero() && row.Seq != g[0] {
				return hole(g[0])
			}
			rows = append(rows, row)
			size += len(row.Data)
			g[0] = row.Seq + 1
			if size >= pageBytes {
				return errEnough
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if size < pageBytes {
			if r.sel.Since.IsZero() && g[0] != to+1 {
				return nil, hole(g[0])
			}
			g[0] = to + 1
		}
		left -= g[0] - from
		if g[0] > g[1] {
			r.ranges = r.ranges[1:]
		}
	}
	r.done = len(r.ranges) == 0
	return rows, nil
}

// The lengths of the events stand in their rows, without their data's overflow pages.
const (
	sizeQuery     = "SELECT coalesce(sum(length(data)), 0) FROM events WHERE pos BETWEEN ? AND ?"
	userSizeQuery = `SELECT coalesce(sum(
			coalesce((SELECT sum(length(data)) FROM events WHERE pos BETWEEN s.sid << 32 AND (s.sid << 32) + 4294967295), 0) +
			coalesce((SELECT sum(length(key) + length(value)) FROM initial i WHERE i.sid = s.sid), 0)), 0) +
		(SELECT coalesce(sum(length(key) + length(value)), 0) FROM shared WHERE owner = ?3)
		FROM sessions s WHERE app = ?1 AND usr = ?2`
)

// Size implements session.Sizer.
func (s *Store) Size(ctx context.Context, key session.Key) (size session.Size, err error) {
	err = s.view(ctx, func(c *conn) error {
		size = session.Size{}
		if key.ID == "" {
			_, err := c.row(userSizeQuery,
				[]any{key.App, key.User, store.Owner(key, session.UserPrefix)}, &size.Log)
			return err
		}
		row, err := find(c, key)
		if err != nil {
			return err
		}
		spans, err := spansAt(c, row.sid, row.frontier)
		if err != nil {
			return err
		}
		if _, err := c.row(sizeQuery, []any{pos(row.sid, 1), pos(row.sid, row.position)}, &size.Log); err != nil {
			return err
		}
		if row.frontier == 0 {
			size.Live = size.Log
			return nil
		}
		for _, r := range spans.Ranges(row.position) {
			var n int64
			if _, err := c.row(sizeQuery, []any{pos(row.sid, r[0]), pos(row.sid, r[1])}, &n); err != nil {
				return err
			}
			size.Live += n
		}
		return nil
	})
	return size, err
}
