package memory

import (
	"context"
	"iter"
	"slices"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Search implements session.Service. It has no index: conditions on events cost the reading of the logs.
func (m *Service) Search(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	return store.Search(ctx, m, q, m.candidates(ctx, q))
}

// candidates yields the sessions that a query's app, user and times leave in, in its order.
func (m *Service) candidates(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	return func(yield func(*session.Hit, error) bool) {
		list, err := m.list(ctx, q)
		for _, s := range list {
			if err = context.Cause(ctx); err != nil {
				break
			}
			if !yield(&session.Hit{Session: s}, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// list returns these sessions, as they are at one moment.
func (m *Service) list(ctx context.Context, q session.Query) ([]*session.Session, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var list []*session.Session
	for _, s := range m.order {
		switch {
		case q.App != "" && s.App != q.App, q.User != "" && s.User != q.User:
			continue
		case s.Updated.Before(q.Since), !q.Until.IsZero() && !s.Updated.Before(q.Until):
			continue
		}
		c, err := m.snapshot(s, false)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if q.Order != session.Stored {
		slices.SortFunc(list, func(a, b *session.Session) int { return store.Compare(q.Order, a, b) })
	}
	return list, nil
}
