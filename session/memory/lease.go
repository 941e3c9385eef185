package memory

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

// lease is a lease that somebody holds. It is guarded by Service.mu.
type lease struct {
	holder    string
	cancelled chan struct{} // closed when the holder is asked to end
	asked     bool          // cancelled is closed
	lost      chan struct{} // closed when the lease was taken away
	free      chan struct{} // closed when the lease was given back or taken away
	unlock    func()        // lets in who waits next
}

// Lease implements session.Service.
func (m *Service) Lease(ctx context.Context, key session.Key, holder string) (*session.Lease, error) {
	if err := session.CheckHolder(holder); err != nil {
		return nil, err
	}
	// Wait for those who came before.
	unlock, err := m.leases.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	s, err := m.find(ctx, key)
	if err != nil {
		unlock()
		return nil, err
	}
	defer m.mu.Unlock()
	m.fence++
	s.fence = m.fence
	l := &lease{
		holder:    holder,
		cancelled: make(chan struct{}),
		lost:      make(chan struct{}),
		free:      make(chan struct{}),
		unlock:    unlock,
	}
	s.lease = l
	release := sync.OnceFunc(func() {
		m.mu.Lock()
		if s.lease == l {
			s.lease = nil
			close(l.free)
		}
		m.mu.Unlock()
		unlock()
	})
	return &session.Lease{Fence: s.fence, Lost: l.lost, Cancelled: l.cancelled, Release: release}, nil
}

// Cancel implements session.Service.
func (m *Service) Cancel(ctx context.Context, key session.Key, holder string) error {
	if err := session.CheckHolder(holder); err != nil {
		return err
	}
	// Ask the holder to end.
	s, err := m.find(ctx, key)
	if err != nil {
		return err
	}
	l := s.lease
	if l == nil || l.holder != holder {
		m.mu.Unlock()
		return nil
	}
	if !l.asked {
		l.asked = true
		close(l.cancelled)
	}
	m.mu.Unlock()

	// Wait for it.
	grace := time.NewTimer(session.CancelGrace)
	defer grace.Stop()
	select {
	case <-l.free:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.done:
		return session.ErrClosed
	case <-grace.C:
	}

	// Take the lease away: who waits is next, and the old fence does not count any more.
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.lease == l {
		m.fence++
		s.fence = m.fence
		s.lease = nil
		close(l.lost)
		close(l.free)
		l.unlock()
	}
	return nil
}

// Watch implements session.Service.
func (m *Service) Watch(ctx context.Context, key session.Key) (*session.Watch, error) {
	s, err := m.find(ctx, key)
	if err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return m.watchers.Add(s, s.Position, func(ctx context.Context, sel session.Selection) iter.Seq2[*session.Event, error] {
		return m.read(ctx, key, sel, s)
	})
}
