package store

import (
	"sync"

	"github.com/plughook/plughook/session"
)

// Watchers are the watches of one store in one process. ID is what the store names a session by: an ID must
// not be used again for another session, so a key is none. The zero value is ready.
type Watchers[ID comparable] struct {
	mu       sync.Mutex
	sessions map[ID]map[*watcher]struct{}
	closed   bool
}

// watcher is one watch.
type watcher struct {
	positions chan int64 // holds one position, the latest
	last      int64
}

// Add makes a watch of a session whose log ends at position.
func (w *Watchers[ID]) Add(id ID, position int64) (*session.Watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, session.ErrClosed
	}
	if w.sessions == nil {
		w.sessions = map[ID]map[*watcher]struct{}{}
	}
	if w.sessions[id] == nil {
		w.sessions[id] = map[*watcher]struct{}{}
	}
	me := &watcher{positions: make(chan int64, 1), last: position}
	w.sessions[id][me] = struct{}{}
	return &session.Watch{
		C: me.positions,
		Stop: func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.sessions[id], me)
			if len(w.sessions[id]) == 0 {
				delete(w.sessions, id)
			}
		},
	}, nil
}

// Appended tells the watches of a session that its log ends at position now. A position that they know
// already tells them nothing.
func (w *Watchers[ID]) Appended(id ID, position int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for me := range w.sessions[id] {
		if position <= me.last {
			continue
		}
		me.last = position
		select {
		case <-me.positions: // it was not taken
		default:
		}
		me.positions <- position
	}
}

// Deleted ends the watches of a session that is no more.
func (w *Watchers[ID]) Deleted(id ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(id)
}

// Close ends every watch, and those to come.
func (w *Watchers[ID]) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for id := range w.sessions {
		w.end(id)
	}
}

func (w *Watchers[ID]) end(id ID) {
	for me := range w.sessions[id] {
		close(me.positions)
	}
	delete(w.sessions, id)
}

// Watched returns the sessions that somebody watches.
func (w *Watchers[ID]) Watched() []ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]ID, 0, len(w.sessions))
	for id := range w.sessions {
		ids = append(ids, id)
	}
	return ids
}
