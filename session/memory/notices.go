package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/plughook/plughook/session"
)

// noticeKey names a notice. A session that is made under the key of a deleted one is another one.
type noticeKey struct {
	session *storedSession
	id      string
}

type notice struct {
	data []byte
	due  time.Time
}

// KeepNotice implements session.NoticeKeeper.
func (m *Service) KeepNotice(ctx context.Context, n session.Notice, in time.Duration) error {
	s, err := m.find(ctx, n.Key)
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.notices[noticeKey{s, n.ID}] = notice{data: bytes.Clone(n.Data), due: time.Now().Add(in)}
	return nil
}

// ReplaceNotice implements session.NoticeKeeper.
func (m *Service) ReplaceNotice(ctx context.Context, n session.Notice, data []byte, in time.Duration) (bool, error) {
	s, err := m.find(ctx, n.Key)
	if err != nil {
		return false, err
	}
	defer m.mu.Unlock()
	key := noticeKey{s, n.ID}
	switch {
	case !bytes.Equal(m.notices[key].data, n.Data):
		return false, nil
	case data == nil:
		delete(m.notices, key)
	default:
		m.notices[key] = notice{data: bytes.Clone(data), due: time.Now().Add(in)}
	}
	return true, nil
}

// TakeNotices implements session.NoticeKeeper.
func (m *Service) TakeNotices(
	ctx context.Context, app string, again time.Duration, limit int,
) (list []session.Notice, err error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var due []noticeKey
	now := time.Now()
	for key, n := range m.notices {
		if key.session.App == app && !n.due.After(now) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b noticeKey) int {
		return cmp.Or(m.notices[a].due.Compare(m.notices[b].due), cmp.Compare(a.id, b.id))
	})
	for _, key := range due[:min(len(due), limit)] {
		n := m.notices[key]
		m.notices[key] = notice{data: n.data, due: now.Add(again)}
		list = append(list, session.Notice{Key: key.session.Key, ID: key.id, Data: bytes.Clone(n.data)})
	}
	return list, nil
}
