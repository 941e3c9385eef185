package memory

import (
	"context"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// snapshot returns a copy of a session, with its state if that is asked for.
func (m *Service) snapshot(s *storedSession, state bool) (*session.Session, error) {
	c := s.Session
	c.Initial = map[string]any{}
	for _, ch := range s.initial {
		v, err := session.DecodeValue(ch.Value)
		if err != nil {
			return nil, err
		}
		c.Initial[ch.Key] = v
	}
	if !state {
		return &c, nil
	}
	if s.lease != nil {
		c.Holder = s.lease.holder
	}
	c.State = map[string]any{}
	scopes := []map[string]jsontext.Value{
		m.scope(s, session.AppPrefix),
		m.scope(s, session.UserPrefix),
		s.state,
	}
	for _, values := range scopes {
		for k, data := range values {
			v, err := session.DecodeValue(data)
			if err != nil {
				return nil, err
			}
			c.State[k] = v
		}
	}
	return &c, nil
}

// Get implements session.Service.
func (m *Service) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	s := m.sessions[key]
	if s == nil {
		return nil, store.NotFound(key)
	}
	return m.snapshot(s, true)
}

// List implements session.Service.
func (m *Service) List(ctx context.Context, app, user string) iter.Seq2[*session.Session, error] {
	return func(yield func(*session.Session, error) bool) {
		if err := m.lock(ctx); err != nil {
			yield(nil, err)
			return
		}
		var list []*session.Session
		for _, s := range m.order {
			if (app == "" && user == "" || s.App == app) && (user == "" || s.User == user) {
				c, err := m.snapshot(s, false)
				if err != nil {
					m.mu.Unlock()
					yield(nil, err)
					return
				}
				list = append(list, c)
			}
		}
		m.mu.Unlock()
		for _, s := range list {
			if err := context.Cause(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Read implements session.Service.
func (m *Service) Read(ctx context.Context, key session.Key, sel session.Selection) iter.Seq2[*session.Event, error] {
	return m.read(ctx, key, sel, nil)
}

// read reads the session under a key. If only one is meant, another one under its key is ErrNotFound.
func (m *Service) read(
	ctx context.Context, key session.Key, sel session.Selection, only *storedSession,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if err := m.lock(ctx); err != nil {
			yield(nil, err)
			return
		}
		s := m.sessions[key]
		if s == nil || only != nil && s != only {
			m.mu.Unlock()
			yield(nil, store.NotFound(key))
			return
		}
		// The log only grows, so what is in it by now can be read without the lock.
		log := s.log
		ranges := s.spans.Select(s.Position, sel)
		m.mu.Unlock()
		takes := func(seq int64) bool {
			return sel.Since.IsZero() || !log[seq-1].time.Before(sel.Since)
		}
		for seq := range selected(ranges, sel.Last, takes) {
			if err := context.Cause(ctx); err != nil {
				yield(nil, err)
				return
			}
			e, err := store.Decode(log[seq-1].data, seq)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// selected yields, in order, the positions in ranges that are taken: the last so many, or all if last is 0.
func selected(ranges [][2]int64, last int, takes func(seq int64) bool) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if last <= 0 {
			for _, r := range ranges {
				for seq := r[0]; seq <= r[1]; seq++ {
					if takes(seq) && !yield(seq) {
						return
					}
				}
			}
			return
		}
		// From the end: a long log costs nothing that is not asked for.
		var list []int64
		for _, r := range slices.Backward(ranges) {
			for seq := r[1]; seq >= r[0] && len(list) < last; seq-- {
				if takes(seq) {
					list = append(list, seq)
				}
			}
		}
		for _, seq := range slices.Backward(list) {
			if !yield(seq) {
				return
			}
		}
	}
}
