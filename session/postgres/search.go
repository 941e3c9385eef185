package postgres

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Search implements session.Service.
func (s *Store) Search(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	return store.Search(ctx, s, q, s.candidates(ctx, q))
}

// candidates yields the sessions that the query's app, user, times and the index leave in, in its order.
func (s *Store) candidates(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	var hits map[int64]int64
	find := func() (list []int64, err error) {
		err = s.do(ctx, "search", func() (err error) {
			var indexed bool
			if hits, indexed, err = s.indexHits(ctx, q); err != nil {
				return err
			}
			list, err = s.listCandidates(ctx, q, hits, indexed)
			return err
		})
		return list, err
	}
	read := func(sids []int64) (page []*session.Hit, err error) {
		err = s.do(ctx, "search", func() (err error) {
			page, err = s.readCandidates(ctx, sids, hits)
			return err
		})
		return page, err
	}
	return sqlstore.Candidates(ctx, find, read)
}

// indexHits returns the newest event, by session, that meets the query's conditions on events. indexed is
// false if the index cannot say: the query has no such conditions, there is no index, or it is not far
// enough.
func (s *Store) indexHits(ctx context.Context, q session.Query) (hits map[int64]int64, indexed bool, err error) {
	x, err := s.pending(ctx) // the version, too
	if err != nil || x.made == nil || x.left > sqlstore.SearchPending || !q.OfEvents() {
		return nil, false, err
	}
	conditions := store.ConditionsOf(q)
	hits = map[int64]int64{}
	var sid, seq int64
	var data []byte

	// What is not in the index yet comes first: it may be by the time of the second statement, and is found
	// twice then.
	rows, err := s.pool.Query(ctx, `
		SELECT e.sid, e.seq, e.data FROM plughook_unindexed u, LATERAL (
			SELECT sid, seq, data FROM plughook_events WHERE sid = u.sid AND seq >= u.first AND seq <= u.last OFFSET 0
		) e WHERE u.sid > 0`)
	if err != nil {
		return nil, false, err
	}
	_, err = pgx.ForEachRow(rows, []any{&sid, &seq, &data}, func() error {
		e, err := store.Decode(data, seq)
		if err == nil && conditions.Met(e) {
			hits[sid] = max(hits[sid], seq)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	rows, err = s.pool.Query(ctx, `
		SELECT sid, max(seq) FROM (
			SELECT sid, seq FROM plughook_words WHERE terms @> $1::text[] OFFSET 0 -- or it would be read by its key, whole
		) w GROUP BY sid`, conditions.Terms)
	if err != nil {
		return nil, false, err
	}
	_, err = pgx.ForEachRow(rows, []any{&sid, &seq}, func() error {
		hits[sid] = max(hits[sid], seq)
		return nil
	})
	if err != nil {
		return nil, false, err
	}

	// An index that was removed meanwhile has said nothing.
	now, err := s.pending(ctx)
	if err != nil || now.made == nil || !now.made.Equal(*x.made) {
		return nil, false, err
	}
	return hits, true, nil
}

// listCandidates returns the sessions that the query's app, user and times leave in, in its order: all, or
// those with a hit of the index.
func (s *Store) listCandidates(ctx context.Context, q session.Query, hits map[int64]int64, indexed bool) ([]int64, error) {
	for _, name := range []string{q.App, q.User} {
		key := session.Key{App: "x", User: "x", ID: name}
		if name != "" && key.Check(false) != nil {
			return nil, nil // nobody has such a name
		}
	}
	query := sqlstore.SessionQuery{
		Query:     q,
		Indexed:   indexed,
		Parameter: "$",
		Time:      func(t time.Time) any { return upward(t) },
	}
	from := "plughook_sessions s"
	query.Where("sid > 0") // by the key, if by nothing else
	if q.CutOff {
		query.Where("lease IS NOT NULL") // or held: Search looks
	}
	if indexed {
		from = "unnest(" + query.Arg(slices.Collect(maps.Keys(hits))) + "::bigint[]) AS h(hit), " +
			"LATERAL (SELECT * FROM plughook_sessions WHERE sid = h.hit OFFSET 0) s"
	}
	if q.App != "" && q.User != "" && !indexed { // by their index
		query.Equal(`app || U&'\0001' || usr`, q.App+"\x01"+q.User)
	} else {
		if q.App != "" {
			query.Equal("app", q.App)
		}
		if q.User != "" {
			query.Equal("usr", q.User)
		}
	}
	statement, args := query.Select(from)
	rows, err := s.pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// upward returns the time, or the next one that the database can hold: it compares microseconds.
func upward(t time.Time) time.Time {
	whole := t.Truncate(time.Microsecond)
	if whole.Before(t) {
		whole = whole.Add(time.Microsecond)
	}
	return whole
}

// readCandidates returns the sessions as hits, in the order of sids, with the events that the index has
// found. One that was deleted meanwhile is left out.
func (s *Store) readCandidates(ctx context.Context, sids []int64, hits map[int64]int64) ([]*session.Hit, error) {
	seqs := make([]int64, len(sids))
	for i, sid := range sids {
		seqs[i] = hits[sid]
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+rowColumns+`, s.initial_keys, s.initial_values,
			(SELECT m.spans FROM plughook_marks m WHERE m.sid = s.sid AND m.seq = s.frontier),
			(SELECT e.data FROM plughook_events e WHERE e.sid = s.sid AND e.seq = h.seq)
		FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS h(sid, seq, n),
			LATERAL (SELECT * FROM plughook_sessions WHERE sid = h.sid OFFSET 0) s
		ORDER BY h.n`, sids, seqs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(rows pgx.CollectableRow) (*session.Hit, error) {
		var r row
		var marks, data []byte
		err := rows.Scan(append(r.columns(), &r.initial.keys, &r.initial.values, &marks, &data)...)
		if err != nil {
			return nil, err
		}
		found, err := r.session(false)
		hit := &session.Hit{Session: found}
		if err != nil || data == nil {
			return hit, err
		}
		var spans store.Spans
		if marks != nil {
			if err := json.Unmarshal(marks, &spans); err != nil {
				return nil, err
			}
		}
		hit.Event, err = store.Decode(data, hits[r.Number])
		hit.Live = spans.Has(hits[r.Number], r.Position)
		return hit, err
	})
}
