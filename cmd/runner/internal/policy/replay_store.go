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
	most int // about so many events are kept beside those of the session that was read last

	mu    sync.Mutex
	views map[session.Key]*replayedView
	kept  int
}

// replayedView is a session's live view as it was read last. The runs of a session read it one
// after the other.
type replayedView struct {
	position, frontier int64
	events             []*session.Event
}

func newReplayStore() *replayStore {
	return &replayStore{Service: memory.New(), most: 1 << 14, views: map[session.Key]*replayedView{}}
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
		view := s.view(key, now.Frontier)
		known := len(view.events)
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
		s.keep(key, view, known)
		for _, e := range view.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// view returns what is known of a session's live view: nothing after a compaction or a rewind.
func (s *replayStore) view(key session.Key, frontier int64) *replayedView {
	s.mu.Lock()
	defer s.mu.Unlock()
	if view := s.views[key]; view != nil && view.frontier == frontier {
		return view
	}
	return &replayedView{frontier: frontier}
}

// keep stores a view for the next run. Of its events, so many were stored before.
func (s *replayStore) keep(key session.Key, view *replayedView, known int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept += len(view.events) - known
	if s.kept > s.most+len(view.events) {
		clear(s.views)
		s.kept = len(view.events)
	}
	s.views[key] = view
}
