package store

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

// Watchers are the watches of one store in one process. ID is what the store names a session by. No other
// session may ever have the same ID. So a session.Key cannot be the ID: it may be used again after a
// deletion. The zero value is ready.
//
// The store tells them what this process does: Appended and Deleted. What other processes do is found by one
// goroutine for all watched sessions. It calls Poll again and again while somebody watches, and ends when
// nobody does.
type Watchers[ID comparable] struct {
	// Poll asks the store once which watched sessions have changed. A store that one process uses alone has
	// none. It is set before the first call of Add.
	Poll func(context.Context, *Poll[ID])

	mu         sync.Mutex
	sessions   map[ID]*watched
	added      bool // a session is watched that was not at the last poll
	looking    bool // the goroutine runs
	closed     bool
	stop       context.CancelFunc // ends the goroutine; nil before the first one
	life       context.Context
	goroutines sync.WaitGroup
}

// watched is a session that somebody watches.
type watched struct {
	position int64 // the position that its watches were told last
	watches  map[chan int64]struct{}
}

// A Poll is one look at the store, for what other processes have appended or deleted.
type Poll[ID comparable] struct {
	// Known has the watched sessions, with the position that is known of each.
	Known map[ID]int64
	// All says that each session must be looked at, even if the store has not changed since the last poll:
	// some of them were not watched then.
	All bool
	// Changed is set by Watchers.Poll if a session has changed: the next poll comes sooner.
	Changed bool
	// Err is set by Watchers.Poll if the poll has failed. Nothing is lost: the next one sees what this one
	// missed.
	Err error
}

// How long the goroutine waits between two polls. An append of another process is seen after a poll's time
// and half a pause, on average.
const (
	busyPause   = 20 * time.Millisecond  // after a poll that saw a change
	idlePause   = 40 * time.Millisecond  // after many polls that saw none
	failedPause = 250 * time.Millisecond // after many polls that failed
	pollTime    = 5 * time.Second        // a poll that takes longer has failed
)

// Add makes a watch of a session whose log ends at position, or later. read is the Watch's Read.
func (w *Watchers[ID]) Add(
	id ID, position int64, read func(context.Context, session.Selection) iter.Seq2[*session.Event, error],
) (*session.Watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, session.ErrClosed
	}
	// The session is watched from now on.
	w.tell(id, position)
	if w.sessions[id] == nil {
		if w.sessions == nil {
			w.sessions = map[ID]*watched{}
		}
		w.sessions[id] = &watched{position: position, watches: map[chan int64]struct{}{}}
		w.added = true
	}
	positions := make(chan int64, 1) // holds the latest position that nobody has taken
	w.sessions[id].watches[positions] = struct{}{}

	// Somebody looks for what other processes append.
	if w.Poll != nil && !w.looking {
		if w.stop == nil {
			w.life, w.stop = context.WithCancel(context.Background())
		}
		w.looking = true
		w.goroutines.Go(w.pollAll)
	}
	return &session.Watch{
		C:    positions,
		Read: read,
		Stop: func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			s := w.sessions[id]
			if s == nil {
				return
			}
			delete(s.watches, positions)
			if len(s.watches) == 0 {
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
	w.tell(id, position)
}

func (w *Watchers[ID]) tell(id ID, position int64) {
	s := w.sessions[id]
	if s == nil || position <= s.position {
		return
	}
	s.position = position
	for positions := range s.watches {
		select {
		case <-positions: // it was not taken
		default:
		}
		positions <- position
	}
}

// Deleted ends the watches of a session that is no more.
func (w *Watchers[ID]) Deleted(id ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(id)
}

func (w *Watchers[ID]) end(id ID) {
	s := w.sessions[id]
	if s == nil {
		return
	}
	for positions := range s.watches {
		close(positions)
	}
	delete(w.sessions, id)
}

// EndAll ends every watch: the store can be read no more. Others may be made.
func (w *Watchers[ID]) EndAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.sessions {
		w.end(id)
	}
}

// Close ends every watch, and those to come. It waits for the goroutine to end.
func (w *Watchers[ID]) Close() {
	w.mu.Lock()
	w.closed = true
	for id := range w.sessions {
		w.end(id)
	}
	if w.stop != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.goroutines.Wait()
}

// pollAll is the goroutine: it polls until nobody watches.
func (w *Watchers[ID]) pollAll() {
	pause := busyPause
	for {
		poll := w.nextPoll()
		if poll == nil {
			return
		}

		// Poll once.
		ctx, cancel := context.WithTimeout(w.life, pollTime)
		w.Poll(ctx, poll)
		cancel()

		// The more happens, the sooner is the next poll.
		switch {
		case poll.Err != nil:
			pause = min(2*pause, failedPause)
			w.lookAtAll()
		case poll.Changed:
			pause = busyPause
		default:
			pause = min(pause+pause/4, idlePause)
		}
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-w.life.Done():
			next.Stop()
		}
	}
}

// nextPoll returns what the next poll is to look at, or nil if the goroutine is to end.
func (w *Watchers[ID]) nextPoll() *Poll[ID] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.sessions) == 0 {
		w.looking = false
		return nil
	}
	g := &Poll[ID]{Known: make(map[ID]int64, len(w.sessions)), All: w.added}
	for id, s := range w.sessions {
		g.Known[id] = s.position
	}
	w.added = false
	return g
}

// lookAtAll has the next poll look at each session: the last one may have missed some.
func (w *Watchers[ID]) lookAtAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added = true
}
