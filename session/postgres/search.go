package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// searchPending is how many events a search looks through beside the index. If more are not in it yet, such as while it
// is made, the search does without it.
const searchPending = 4096

// searchPage is how many sessions are read at once.
const searchPage = 32

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

// candidates yields the sessions that the query's app, user, times and the index leave in, in its order.
func (s *Store) candidates(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	return func(yield func(*session.Hit, error) bool) {
		var list []int64
		var hits map[int64]int64
		err := s.check(ctx)
		if err == nil {
			err = s.again(ctx, func() error {
				var indexed bool
				var err error
				if hits, indexed, err = s.indexHits(ctx, q); err != nil {
					return err
				}
				list, err = s.listCandidates(ctx, q, hits, indexed)
				return err
			})
			err = s.fail(ctx, "search", err)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for sids := range slices.Chunk(list, searchPage) {
			var page []*session.Hit
			err := s.check(ctx)
			if err == nil {
				err = s.again(ctx, func() (err error) {
					page, err = s.readCandidates(ctx, sids, hits)
					return err
				})
				err = s.fail(ctx, "search", err)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, hit := range page {
				if !yield(hit, nil) {
					return
				}
			}
		}
	}
}

// indexHits returns the newest event, by session, that meets the query's conditions on events. indexed is false if the
// index cannot say: the query has no such conditions, there is no index, or it is not far enough.
func (s *Store) indexHits(ctx context.Context, q session.Query) (hits map[int64]int64, indexed bool, err error) {
	x, err := s.pending(ctx) // the version, too
	if err != nil || x.made == nil || x.left > searchPending || !q.OfEvents() {
		return nil, false, err
	}
	conditions := store.ConditionsOf(q)
	hits = map[int64]int64{}
	var sid, seq int64
	var data []byte

	// What is not in the index yet comes first: it may be by the time of the second statement, and is found twice then.
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

// listCandidates returns the sessions that the query's app, user and times leave in, in its order: all, or those with a
// hit of the index.
func (s *Store) listCandidates(ctx context.Context, q session.Query, hits map[int64]int64, indexed bool) ([]int64, error) {
	for _, name := range []string{q.App, q.User} {
		key := session.Key{App: "x", User: "x", ID: name}
		if name != "" && key.Check(false) != nil {
			return nil, nil // nobody has such a name
		}
	}
	from := "plughook_sessions s"
	where := []string{"s.sid > 0"} // by the key, if by nothing else
	var args []any
	given := func(value any) string {
		args = append(args, value)
		return fmt.Sprint("$", len(args))
	}
	if indexed {
		from = "unnest(" + given(slices.Collect(maps.Keys(hits))) + "::bigint[]) AS h(sid), LATERAL (SELECT * FROM plughook_sessions WHERE sid = h.sid OFFSET 0) s"
	}
	switch {
	case q.App != "" && q.User != "" && !indexed: // by their index
		where = append(where, `s.app || U&'\0001' || s.usr = `+given(q.App+"\x01"+q.User))
	case q.App != "" && q.User != "":
		where = append(where, "s.app = "+given(q.App), "s.usr = "+given(q.User))
	case q.App != "":
		where = append(where, "s.app = "+given(q.App))
	case q.User != "":
		where = append(where, "s.usr = "+given(q.User))
	}
	if !q.Since.IsZero() {
		where = append(where, "s.updated >= "+given(upward(q.Since)))
	}
	if !q.Until.IsZero() {
		where = append(where, "s.updated < "+given(upward(q.Until)))
	}
	query := "SELECT s.sid FROM " + from + " WHERE " + strings.Join(where, " AND ")
	switch q.Order {
	case session.Stored:
		query += " ORDER BY s.sid"
	case session.Oldest:
		query += " ORDER BY s.updated, s.app DESC, s.usr DESC, s.id DESC"
	default:
		query += " ORDER BY s.updated DESC, s.app, s.usr, s.id"
	}
	if q.Limit > 0 && !q.Waiting && (indexed || !q.OfEvents()) { // each of them is a hit
		query += " LIMIT " + given(q.Limit)
	}
	rows, err := s.pool.Query(ctx, query, args...)
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

// readCandidates returns the sessions as hits, in the order of sids, with the events that the index has found. One that was
// deleted meanwhile is left out.
func (s *Store) readCandidates(ctx context.Context, sids []int64, hits map[int64]int64) ([]*session.Hit, error) {
	seqs := make([]int64, len(sids))
	for i, sid := range sids {
		seqs[i] = hits[sid]
	}
	rows, err := s.pool.Query(ctx, `
		SELECT s.sid, s.app, s.usr, s.id, s.head, s.frontier, s.created, s.updated, s.initial_keys, s.initial_values,
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
		if err := rows.Scan(&r.Number, &r.App, &r.User, &r.ID, &r.Position, &r.Frontier, &r.Created, &r.Updated,
			&r.initial.keys, &r.initial.values, &marks, &data); err != nil {
			return nil, err
		}
		one, err := r.session(false)
		hit := &session.Hit{Session: one}
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
