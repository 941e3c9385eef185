package sqlite

import (
	"context"
	"iter"
	"slices"

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
		for !r.done {
			page, err := r.page(ctx, s)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range page {
				err := context.Cause(ctx)
				var e *session.Event
				if err == nil {
					e, err = store.Decode(row.data, row.seq)
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
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

// stored is an event as it is in the file.
type stored struct {
	seq  int64
	data []byte
}

// page returns the next rows. The first page is of the snapshot that the plan was made from.
func (r *reading) page(ctx context.Context, s *Store) ([]stored, error) {
	var rows []stored
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
		err = notFound(r.key)
	}
	return err
}

// plan finds the ranges of positions to read.
func (r *reading) plan(ctx context.Context, c *conn) error {
	row, err := find(c, r.key)
	if err == nil && r.only != 0 && row.sid != r.only {
		err = notFound(r.key)
	}
	if err != nil {
		return err
	}
	ranges := [][2]int64{{1, row.position}}
	if r.sel.Live {
		spans, err := spansAt(c, row.sid, row.frontier)
		if err != nil {
			return err
		}
		ranges = spans.Ranges(row.position)
	}
	r.sid = row.sid
	for _, g := range ranges {
		g[0] = max(g[0], r.sel.After+1)
		if g[0] <= g[1] {
			r.ranges = append(r.ranges, g)
		}
	}
	if r.sel.Last > 0 {
		return r.last(ctx, c)
	}
	return nil
}

// last narrows the ranges to those of the last events that are selected.
func (r *reading) last(ctx context.Context, c *conn) error {
	var kept [][2]int64 // backward
	for left := int64(r.sel.Last); left > 0 && len(r.ranges) > 0; {
		end := &r.ranges[len(r.ranges)-1]
		if r.sel.Since.IsZero() {
			g := [2]int64{max(end[0], end[1]-left+1), end[1]}
			kept = append(kept, g)
			left -= g[1] - g[0] + 1
			r.ranges = r.ranges[:len(r.ranges)-1]
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		from := max(end[0], end[1]-pageSeqs+1)
		err := c.each(lastQuery,
			[]any{pos(r.sid, from), pos(r.sid, end[1]), r.sel.Since.Unix(), r.sel.Since.Nanosecond(), left},
			func(scan func(...any) error) (bool, error) {
				var p int64
				err := scan(&p)
				p &= maxSeq
				n := len(kept) - 1
				if n >= 0 && kept[n][0] == p+1 {
					kept[n][0] = p
				} else {
					kept = append(kept, [2]int64{p, p})
				}
				left--
				return true, err
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
func (r *reading) fill(c *conn) ([]stored, error) {
	var rows []stored
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
		err := c.each(query, args, func(scan func(...any) error) (bool, error) {
			var row stored
			err := scan(&row.seq, &row.data)
			row.seq &= maxSeq
			if err == nil && r.sel.Since.IsZero() && row.seq != g[0] {
				err = hole(g[0])
			}
			rows = append(rows, row)
			size += len(row.data)
			g[0] = row.seq + 1
			return size < pageBytes, err
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
