package postgres

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Watch implements session.Service. An append by this process is told at once. For appends by other
// processes, one goroutine looks every 20 to 40 ms, for all watched sessions together; it runs while somebody
// watches.
func (s *Store) Watch(ctx context.Context, key session.Key) (*session.Watch, error) {
	var sid, head, version int64
	err := s.on(ctx, "watch", key, func() error {
		err := s.pool.QueryRow(ctx, `
			SELECT sid, head, `+schemaVersion+` FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3`,
			key.App, key.User, key.ID).Scan(&sid, &head, &version)
		if err == nil {
			err = fits(version)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	w, err := s.watchers.Add(sid, head, func(ctx context.Context, sel session.Selection) iter.Seq2[*session.Event, error] {
		return s.read(ctx, key, sel, sid)
	})
	if err != nil {
		return nil, err
	}
	forget := s.remember(key, sid)
	stop := w.Stop
	w.Stop = func() {
		stop()
		forget()
	}
	return w, nil
}

// watchedSid is the number of a session that somebody watches. The usual append knows the session's key only,
// and would take longer if it had to return the number.
type watchedSid struct {
	sid     int64
	watches int
}

// remember keeps the number of a watched session until forget is called.
func (s *Store) remember(key session.Key, sid int64) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.sids[key]
	if w == nil || w.sid != sid { // another session had the key, and its watches are about to end
		w = &watchedSid{sid: sid}
		s.sids[key] = w
	}
	w.watches++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.watches--
		if w.watches == 0 && s.sids[key] == w {
			delete(s.sids, key)
		}
	})
}

// appended tells the watches of a session that its log ends at position now.
func (s *Store) appended(key session.Key, position int64) {
	s.mu.Lock()
	w := s.sids[key]
	s.mu.Unlock()
	if w != nil {
		s.watchers.Appended(w.sid, position)
	}
}

// lookQuery yields first the snapshot that it reads from, in a row of its own. The other rows are the watched
// sessions whose position is greater than the known one, with -1 for one that is deleted. If the snapshot is
// the one that was seen last, nothing has been committed since, and the sessions are not read.
const lookQuery = `
	SELECT pg_current_snapshot()::text, 0::bigint, 0::bigint
	UNION ALL
	SELECT '', known.sid, coalesce(s.head, -1)
	FROM unnest($2::bigint[], $3::bigint[]) AS known(sid, head)
		LEFT JOIN LATERAL (SELECT p.head FROM plughook_sessions p WHERE p.sid = known.sid OFFSET 0) s ON true
	WHERE pg_current_snapshot()::text <> $1 AND (s.head IS NULL OR s.head > known.head)`

// poll looks once for what was appended to the watched sessions, or deleted.
func (s *Store) poll(ctx context.Context, poll *store.Poll[int64]) {
	sids := make([]int64, 0, len(poll.Known))
	heads := make([]int64, 0, len(poll.Known))
	for sid, head := range poll.Known {
		sids = append(sids, sid)
		heads = append(heads, head)
	}
	seen := s.snapshot
	if poll.All {
		seen = ""
	}
	var snapshot, text string
	var sid, head int64
	rows, err := s.pool.Query(ctx, lookQuery, seen, sids, heads)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&text, &sid, &head}, func() error {
			switch {
			case text != "":
				snapshot = text
				return nil
			case head < 0:
				s.watchers.Deleted(sid)
			default:
				s.watchers.Appended(sid, head)
			}
			poll.Changed = true
			return nil
		})
	}
	if err == nil {
		s.snapshot = snapshot
	}
	poll.Err = err
	if unfit(err) && errors.Is(current(ctx, s.pool), session.ErrNewerSchema) {
		s.watchers.EndAll() // nothing can be read any more, and whoever tries is told why
	}
}
