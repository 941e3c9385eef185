package lent

import (
	"context"
	"time"

	"github.com/plughook/plughook/session"
)

// wholeCompare is how many events are compared each time a view is served: 1,024 take about 0.2 ms.
const wholeCompare = 1024

// A view is the live view of a session as a run has read it.
type view struct {
	key                session.Key
	number             int64 // the session's: another one may have got its key
	position, frontier int64
	// lastID is the ID of the event at position, "" if the view does not have it. Another ID there is another
	// log.
	lastID string
	live   printedEvents
	bytes  int64     // about what live takes
	used   time.Time // when it was kept

	folds     map[any]*fold // that no run has; see Folds. Views.mu guards it
	foldBytes int64         // what they took when they were kept last, counted in bytes

	next       int         // the first of the next events to be compared, of a view that is not compared whole
	background *comparison // the last one in the background, nil if there was none
}

// readView reads the live view of a session.
func readView(ctx context.Context, sessions session.Service, s *session.Session) (*view, error) {
	v := &view{key: s.Key, number: s.Number}
	for e, err := range sessions.Read(ctx, s.Key, session.Selection{Live: true}) {
		if err != nil {
			return nil, err
		}
		v.add(e)
	}
	v.readTo(s)
	return v, nil
}

// add adds an event that was just read.
func (v *view) add(e *session.Event) {
	const perEvent = 20 // what printedEvents takes for each
	v.live.add(e, FingerprintOf(e))
	v.bytes += Size(e) + perEvent
}

// readTo notes that the view has been read to the position of a session.
func (v *view) readTo(s *session.Session) {
	v.position = s.Position
	v.frontier = s.Frontier
	v.lastID = ""
	if n := len(v.live.events); n > 0 && v.live.events[n-1].Seq == s.Position {
		v.lastID = v.live.events[n-1].ID
	}
}

// mayBecome reports whether the view can become the session's by what was appended since: it is the same
// session, and nothing has changed its live view otherwise.
func (v *view) mayBecome(s *session.Session) bool {
	same := v.number == s.Number && v.frontier == s.Frontier
	n := len(v.live.events)
	whole := n == 0 || v.live.events[n-1].Seq <= v.position // else somebody appended while it was read
	return same && whole && v.position <= s.Position
}

// readNew adds what was appended to the session since, and reports whether the view is the session's live
// view then. If not, it must be thrown away.
func (v *view) readNew(ctx context.Context, sessions session.Service, s *session.Session) (bool, error) {
	// The last event that the view has is read once more: another one there is another log.
	next := v.position + 1
	sel := session.Selection{After: v.position}
	if v.lastID != "" {
		sel.After--
	} else if v.position == s.Position {
		return true, nil
	}
	for e, err := range sessions.Read(ctx, s.Key, sel) {
		switch {
		case err != nil:
			return false, err
		case e.Seq == v.position && e.ID == v.lastID && next == e.Seq+1:
			continue
		case e.Seq != next || e.Marker():
			return false, nil
		}
		v.add(e)
		next++
	}
	if next != s.Position+1 {
		return false, nil
	}
	v.readTo(s)
	return true, nil
}

// findChanged returns an event that somebody has changed, nil if none is found: all of them are compared, or
// of a large view the last ones, and others in turn.
func (v *view) findChanged() *session.Event {
	if v.background != nil && v.background.ended() && v.background.found != nil {
		return v.background.found
	}
	n := len(v.live.events)
	if n <= wholeCompare {
		return v.live.firstChanged(0, n)
	}
	if e := v.live.firstChanged(n-sampleSize, n); e != nil {
		return e
	}
	older := n - sampleSize
	for range wholeCompare - sampleSize {
		v.next %= older
		if v.live.changed(v.next) {
			return v.live.events[v.next]
		}
		v.next++
	}
	return nil
}
