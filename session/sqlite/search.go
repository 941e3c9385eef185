package sqlite

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Search implements session.Service.
func (s *Store) Search(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	return store.Search(ctx, s, q, s.candidates(ctx, q))
}

// candidate is a session that may be a hit, with the position of the event that the index has found, or 0.
type candidate struct{ sid, seq int64 }

// candidates yields the sessions that the query's app, user, times and the index leave in, in its order.
func (s *Store) candidates(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	find := func() (list []candidate, err error) { // all in one snapshot
		err = s.view(ctx, func(c *conn) error {
			hits, indexed, err := indexHits(ctx, c, q)
			if err == nil {
				list, err = listCandidates(c, q, hits, indexed)
			}
			return err
		})
		return list, err
	}
	read := func(page []candidate) (hits []*session.Hit, err error) {
		err = s.view(ctx, func(c *conn) error {
			hits = hits[:0]
			for _, found := range page {
				hit, err := found.read(c)
				if err != nil {
					return err
				}
				if hit != nil {
					hits = append(hits, hit)
				}
			}
			return nil
		})
		return hits, err
	}
	return sqlstore.Candidates(ctx, find, read)
}

// indexHits returns the newest event, by session, that meets the query's conditions on events. indexed is
// false if the index cannot say: the query has no such conditions, there is no index, or it is not far
// enough.
func indexHits(ctx context.Context, c *conn, q session.Query) (hits map[int64]int64, indexed bool, err error) {
	if !q.OfEvents() {
		return nil, false, nil
	}
	n, indexed, err := pending(c)
	if err != nil || !indexed || n > sqlstore.SearchPending {
		return nil, false, err
	}
	conditions := store.ConditionsOf(q)
	hits = map[int64]int64{}

	// What the index has, the newest of a session first. It is read in parts; where a part is all of one
	// session, the rest of that session is left out.
	terms := `"` + strings.Join(conditions.Terms, `" "`) + `"`
	for below := int64(math.MaxInt64); ; {
		var first, last, rows int64
		err := c.each("SELECT rowid FROM words WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?",
			[]any{terms, below, searchRows}, []any{&last}, func() error {
				if rows == 0 {
					first = last
				}
				rows++
				if sid := last >> seqBits; hits[sid] == 0 {
					hits[sid] = last & maxSeq
				}
				return nil
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
	var at int64
	var data []byte
	err = c.each("SELECT e.pos, e.data FROM unindexed u JOIN events e ON e.pos BETWEEN (u.sid << 32) + u.first AND (u.sid << 32) + u.last",
		nil, []any{&at, &data}, func() error {
			e, err := store.Decode(data, at&maxSeq)
			if err == nil {
				err = context.Cause(ctx)
			}
			if err == nil && conditions.Met(e) {
				hits[at>>seqBits] = max(hits[at>>seqBits], e.Seq)
			}
			return err
		})
	return hits, true, err
}

// searchRows is how many rows of the index are read at once.
const searchRows = 512

// listCandidates returns the sessions that the query's app, user and times leave in, in its order: all, or
// those with a hit of the index.
func listCandidates(c *conn, q session.Query, hits map[int64]int64, indexed bool) ([]candidate, error) {
	query := sqlstore.SessionQuery{
		Query:     q,
		Indexed:   indexed,
		Parameter: "?",
		Time:      func(t time.Time) any { return t.UnixNano() },
	}
	if q.CutOff {
		query.Where("lease_until != 0") // or held: Search looks
	}
	noIndex := ""
	if indexed {
		sids, err := json.Marshal(slices.Sorted(maps.Keys(hits)))
		if err != nil {
			return nil, err
		}
		query.Where("sid IN (SELECT value FROM json_each(" + query.Arg(string(sids)) + "))")
		noIndex = "+" // app and user then do not go by their index
	}
	if q.App != "" {
		query.Equal(noIndex+"app", q.App)
	}
	if q.User != "" {
		query.Equal(noIndex+"usr", q.User)
	}
	statement, args := query.Select("sessions")
	var list []candidate
	var sid int64
	err := c.each(statement, args, []any{&sid}, func() error {
		list = append(list, candidate{sid: sid, seq: hits[sid]})
		return nil
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
	err = initialState(c, x.sid, hit.Session.Initial)
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
