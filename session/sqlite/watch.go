package sqlite

import (
	"context"
	"iter"
	"strconv"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Watch implements session.Service. An append by this process is told at once. For appends by other
// processes, one goroutine looks every 20 to 40 ms, for all watched sessions together; it runs while somebody
// watches.
func (s *Store) Watch(ctx context.Context, key session.Key) (*session.Watch, error) {
	var r *row
	err := s.view(ctx, func(c *conn) (err error) {
		r, err = find(c, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.watchers.Add(r.sid, r.position, func(ctx context.Context, sel session.Selection) iter.Seq2[*session.Event, error] {
		return s.read(ctx, key, sel, r.sid)
	})
}

// watchConn is the connection with which the watchers' goroutine looks at the file. It belongs to that
// goroutine until the watchers are closed, then to Close.
type watchConn struct {
	c       *conn // a connection of its own; nil until the first poll
	version int64 // of the data that was seen last; see poll
}

// poll looks once for what was appended to the watched sessions, or deleted.
func (s *Store) poll(ctx context.Context, poll *store.Poll[int64]) {
	poll.Err = patiently(ctx, s.patience, func() error { return s.pollOnce(poll) })
	if broken(poll.Err) {
		_ = s.closeWatchConn() // who knows what state it is in
	}
	if s.guard.moved.Load() {
		s.watchers.EndAll() // nothing can be read any more, and whoever tries is told why
	}
}

func (s *Store) pollOnce(poll *store.Poll[int64]) (err error) {
	if err := s.there(); err != nil {
		return err
	}
	if s.watching.c == nil {
		if s.watching.c, err = s.reader(); err != nil {
			return err
		}
		s.watching.version = 0
	}

	// The data's version is another one after each commit of another connection. To read it costs next to
	// nothing. It is read before the sessions, so that no commit falls between the two.
	var version int64
	if _, err := s.watching.c.row("PRAGMA data_version", nil, &version); err != nil {
		return err
	}
	if version == s.watching.version && !poll.All {
		return nil
	}

	// Of the watched sessions, find those that have changed: {"sid": position, …} is joined with the table.
	known := []byte{'{'}
	for sid, position := range poll.Known {
		if len(known) > 1 {
			known = append(known, ',')
		}
		known = append(known, '"')
		known = strconv.AppendInt(known, sid, 10)
		known = append(known, '"', ':')
		known = strconv.AppendInt(known, position, 10)
	}
	known = append(known, '}')
	var sid, position int64
	err = s.watching.c.each(lookQuery, []any{string(known)}, []any{&sid, &position}, func() error {
		if position < 0 {
			s.watchers.Deleted(sid)
		} else {
			s.watchers.Appended(sid, position)
		}
		poll.Changed = true
		return nil
	})
	if err == nil {
		s.watching.version = version
	}
	return err
}

// lookQuery yields the watched sessions whose position is not the known one, with -1 for one that is deleted.
const lookQuery = `
	SELECT CAST(known.key AS INTEGER), coalesce(s.position, -1)
	FROM json_each(?) AS known LEFT JOIN sessions AS s ON s.sid = CAST(known.key AS INTEGER)
	WHERE s.position IS NOT known.value`

// closeWatchConn closes the connection of the watchers' goroutine.
func (s *Store) closeWatchConn() error {
	c := s.watching.c
	s.watching.c = nil
	if c == nil {
		return nil
	}
	return s.leave(c)
}
