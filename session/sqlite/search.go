package sqlite

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// searchPending is how many events a search looks through beside the index. If more are not in it yet, such as while it
// is made, the search does without it.
const searchPending = 4096

// Search implements session.Service.
func (s *Store) Search(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	return func(yield func(*session.Hit, error) bool) {
		if err := q.Check(); err != nil {
			yield(nil, err)
			return
		}
		for hit, err := range store.Search(ctx, s, q, s.candidates(ctx, q)) {
			if !yield(hit, err) {
				return
			}
		}
	}
}

// candidate is a session that may be a hit, with the position of the event that the index has found, or 0.
type candidate struct{ sid, seq int64 }

// candidates yields the sessions that the query's app, user, times and the index leave in, in its order.
func (s *Store) candidates(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	return func(yield func(*session.Hit, error) bool) {
		// All of them are found in one snapshot. What is told of them is read page by page.
		var list []candidate
		err := s.view(ctx, func(c *conn) error {
			hits, indexed, err := indexHits(ctx, c, q)
			if err == nil {
				list, err = listCandidates(c, q, hits, indexed)
			}
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for page := range slices.Chunk(list, 32) {
			var hits []*session.Hit
			err := s.view(ctx, func(c *conn) error {
				hits = hits[:0]
				for _, one := range page {
					hit, err := one.read(c)
					if err != nil {
						return err
					}
					if hit != nil {
						hits = append(hits, hit)
					}
				}
				return nil
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, hit := range hits {
				if !yield(hit, nil) {
					return
				}
			}
		}
	}
}

// indexHits returns the newest event, by session, that meets the query's conditions on events. indexed is false if the
// index cannot say: the query has no such conditions, there is no index, or it is not far enough.
func indexHits(ctx context.Context, c *conn, q session.Query) (hits map[int64]int64, indexed bool, err error) {
	if !q.OfEvents() {
		return nil, false, nil
	}
	n, indexed, err := pending(c)
	if err != nil || !indexed || n > searchPending {
		return nil, false, err
	}
	conditions := store.ConditionsOf(q)
	hits = map[int64]int64{}

	// What the index has, the newest of a session first. It is read in parts; where a part is all of one session,
	// the rest of that session is left out.
	terms := `"` + strings.Join(conditions.Terms, `" "`) + `"`
	for below := int64(-1); ; {
		query := "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?2"
		args := []any{terms, searchRows}
		if below >= 0 {
			query = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?3 ORDER BY rowid DESC LIMIT ?2"
			args = append(args, below)
		}
		var first, last, rows int64
		err := c.each(query, args, func(scan func(...any) error) (bool, error) {
			if err := scan(&last); err != nil {
				return false, err
			}
			if rows == 0 {
				first = last
			}
			rows++
			if sid := last >> seqBits; hits[sid] == 0 {
				hits[sid] = last & maxSeq
			}
			return true, nil
		})
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, false, err
		}
		if rows < searchRows {
			break
		}
		below = last
		if first>>seqBits == last>>seqBits {
			below = pos(last>>seqBits, 0)
		}
	}

	// What it has not yet.
	err = c.each("SELECT e.pos, e.data FROM unindexed u JOIN events e ON e.pos BETWEEN (u.sid << 32) + u.first AND (u.sid << 32) + u.last",
		nil, func(scan func(...any) error) (bool, error) {
			var at int64
			var data []byte
			if err := scan(&at, &data); err != nil {
				return false, err
			}
			e, err := store.Decode(data, at&maxSeq)
			if err == nil {
				err = context.Cause(ctx)
			}
			if err == nil && conditions.Met(e) {
				hits[at>>seqBits] = max(hits[at>>seqBits], e.Seq)
			}
			return true, err
		})
	return hits, true, err
}

// searchRows is how many rows of the index are read at once.
const searchRows = 512

// listCandidates returns the sessions that the query's app, user and times leave in, in its order: all, or those with a
// hit of the index.
func listCandidates(c *conn, q session.Query, hits map[int64]int64, indexed bool) ([]candidate, error) {
	app := "app"
	user := "usr"
	var where []string
	var args []any
	given := func(value any) string {
		args = append(args, value)
		return fmt.Sprint("?", len(args))
	}
	if indexed {
		sids, err := json.Marshal(slices.Sorted(maps.Keys(hits)))
		if err != nil {
			return nil, err
		}
		where = append(where, "sid IN (SELECT value FROM json_each("+given(string(sids))+"))")
		app = "+app" // not by their index
		user = "+usr"
	}
	if q.App != "" {
		where = append(where, app+" = "+given(q.App))
	}
	if q.User != "" {
		where = append(where, user+" = "+given(q.User))
	}
	if !q.Since.IsZero() {
		where = append(where, "updated >= "+given(q.Since.UnixNano()))
	}
	if !q.Until.IsZero() {
		where = append(where, "updated < "+given(q.Until.UnixNano()))
	}
	query := "SELECT sid FROM sessions"
	if where != nil {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	switch q.Order {
	case session.Stored:
		query += " ORDER BY sid"
	case session.Oldest:
		query += " ORDER BY updated, app DESC, usr DESC, id DESC"
	default:
		query += " ORDER BY updated DESC, app, usr, id"
	}
	if q.Limit > 0 && !q.Waiting && (indexed || !q.OfEvents()) { // each of them is a hit
		query += " LIMIT " + given(q.Limit)
	}
	var list []candidate
	err := c.each(query, args, func(scan func(...any) error) (bool, error) {
		var sid int64
		err := scan(&sid)
		list = append(list, candidate{sid: sid, seq: hits[sid]})
		return true, err
	})
	return list, err
}

// read returns the candidate as a hit, nil if it was deleted meanwhile.
func (x candidate) read(c *conn) (*session.Hit, error) {
	var r row
	var key session.Key
	ok, err := c.row("SELECT "+rowColumns+", app, usr, id FROM sessions WHERE sid = ?", []any{x.sid},
		append(r.columns(), &key.App, &key.User, &key.ID)...)
	if err != nil || !ok {
		return nil, err
	}
	hit := &session.Hit{Session: r.session(key)}
	err = c.each("SELECT 0, key, value FROM initial WHERE sid = ?", []any{x.sid}, collect(hit.Session.Initial))
	if err != nil || x.seq == 0 {
		return hit, err
	}
	if hit.Event, err = event(c, x.sid, x.seq); err != nil {
		return nil, err
	}
	spans, err := spansAt(c, x.sid, r.frontier)
	hit.Live = spans.Has(x.seq, r.position)
	return hit, err
}
