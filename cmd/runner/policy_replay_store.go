package main

import (
	"context"
	"iter"
	"sync"

	"github.com/plughook/plughook/session"
)

// replayStore decodes an event once, and not for every turn that reads the live view: a recorded session may have thousands,
// and nothing compacts it. So turns share events, which is for plugins that change none: a policy in shadow.
type replayStore struct {
	*session.Memory
	mu   sync.Mutex
	live map[session.Key]*replayedView
}

// replayedView is a session's live view as it was read last.
type replayedView struct {
	position, frontier int64
	events             []*session.Event
}

func newReplayStore() *replayStore {
	return &replayStore{Memory: session.NewMemory(), live: map[session.Key]*replayedView{}}
}

// Read implements session.Service. The turns of a session read it one after the other.
func (s *replayStore) Read(ctx context.Context, key session.Key, sel session.Selection) iter.Seq2[*session.Event, error] {
	if sel != (session.Selection{Live: true}) {
		return s.Memory.Read(ctx, key, sel)
	}
	return func(yield func(*session.Event, error) bool) {
		now, err := s.Get(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		s.mu.Lock()
		view := s.live[key]
		if view == nil || view.frontier != now.Frontier { // what was live may be so no more
			view = &replayedView{frontier: now.Frontier}
			s.live[key] = view
		}
		s.mu.Unlock()
		for e, err := range s.Memory.Read(ctx, key, session.Selection{Live: true, After: view.position}) {
			if err != nil {
				yield(nil, err)
				return
			}
			view.events, view.position = append(view.events, e), max(view.position, e.Seq) // a compaction stands before what it keeps
		}
		for _, e := range view.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}
