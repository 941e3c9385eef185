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
	s, err := m.find(ctx, key)
	if err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return m.snapshot(s, true)
}

// List implements session.Service.
func (m *Service) List(ctx context.Context, app, user string) iter.Seq2[*session.Session, error] {
	return func(yield func(*session.Session, error) bool) {
		q := session.Query{App: app, User: user, Order: session.Stored}
		for hit, err := range m.candidates(ctx, q) {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case app == "" && user != "": // every app, but no user of every app
			case !yield(hit.Session, nil):
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
		s, err := m.find(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		// The log only grows, so what is in it by now can be read without the lock.
		log := s.log
		ranges := s.spans.Select(s.Position, sel)
		m.mu.Unlock()
		if only != nil && s != only {
			yield(nil, store.NotFound(key))
			return
		}
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

// Size implements session.Sizer.
func (m *Service) Size(ctx context.Context, key session.Key) (size session.Size, err error) {
	if key.ID != "" {
		s, err := m.find(ctx, key)
		if err != nil {
			return size, err
		}
		defer m.mu.Unlock()
		for _, r := range s.spans.Ranges(s.Position) {
			for _, e := range s.log[r[0]-1 : r[1]] {
				size.Live += int64(len(e.data))
			}
		}
		size.Log = s.bytes()
		return size, nil
	}
	if err := m.lock(ctx); err != nil {
		return size, err
	}
	defer m.mu.Unlock()
	for _, s := range m.order {
		if s.App == key.App && s.User == key.User {
			size.Log += s.bytes()
			for _, c := range s.initial {
				size.Log += int64(len(c.Key) + len(c.Value))
			}
		}
	}
	for k, value := range m.shared[store.Owner(key, session.UserPrefix)] {
		size.Log += int64(len(k) + len(value))
	}
	return size, nil
}

// bytes returns how many bytes the session's events take.
func (s *storedSession) bytes() (n int64) {
	for _, e := range s.log {
		n += int64(len(e.data))
	}
	return n
}
