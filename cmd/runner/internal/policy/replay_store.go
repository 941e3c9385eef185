package policy

import (
	"context"
	"iter"
	"sync"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// replayStore decodes an event once, and not for every run that reads the live view: a recorded
// session may have thousands, and nothing compacts it. So runs share events, for a copy costs
// about what decoding does; which is for plugins that change none: a policy in shadow.
type replayStore struct {
	*memory.Service
	mu    sync.Mutex
	views map[session.Key]*replayedView // of the sessions that were read last
}

// mostViews is how many sessions' live views are kept.
const mostViews = 32

// replayedView is a session's live view as it was read last. The runs of a session read it one
// after the other.
type replayedView struct {
	position, frontier int64
	events             []*session.Event
}

func newReplayStore() *replayStore {
	return &replayStore{Service: memory.New(), views: map[session.Key]*replayedView{}}
}

// Read implements session.Service.
func (s *replayStore) Read(ctx context.Context, key session.Key,
	sel session.Selection) iter.Seq2[*session.Event, error] {
	if sel != (session.Selection{Live: true}) {
		return s.Service.Read(ctx, key, sel)
	}
	return func(yield func(*session.Event, error) bool) {
		now, err := s.Get(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		s.mu.Lock()
		view := s.views[key]
		if view == nil || view.frontier != now.Frontier { // nothing is known after a compaction or a rewind
			if len(s.views) == mostViews {
				clear(s.views)
			}
			view = &replayedView{frontier: now.Frontier}
			s.views[key] = view
		}
		s.mu.Unlock()
		for e, err := range s.Service.Read(ctx, key,
			session.Selection{Live: true, After: view.position}) {
			if err != nil {
				yield(nil, err)
				return
			}
			// a compaction stands before what it keeps
			view.events = append(view.events, e)
			view.position = max(view.position, e.Seq)
		}
		for _, e := range view.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}
