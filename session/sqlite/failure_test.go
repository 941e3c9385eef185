package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/sqlitedb"
	"github.com/plughook/plughook/session"
)

// fresh returns a store with a session in it.
func fresh(t testing.TB, ttl, patience time.Duration) (*Store, session.AppendTarget) {
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"), ttl, patience)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	m, err := s.Create(t.Context(), session.Key{App: "app", User: "user"}, map[string]any{"a": 1})
	require.NoError(t, err)
	return s, session.AppendTarget{Key: m.Key}
}

// lock holds the file's write lock until it is unlocked.
func lock(t testing.TB, path string) (unlock func()) {
	c, err := dial(path, "busy_timeout = 60000")
	require.NoError(t, err)
	_, err = c.exec("BEGIN IMMEDIATE")
	require.NoError(t, err)
	return func() {
		c.rollback()
		require.NoError(t, c.close())
	}
}

// queued waits until the writer has n requests waiting.
func queued(t testing.TB, s *Store, n int) {
	require.Eventually(t, func() bool {
		s.writer.mu.Lock()
		defer s.writer.mu.Unlock()
		return len(s.writer.queue) == n
	}, time.Minute, time.Millisecond)
}

func position(t testing.TB, s session.Service, key session.Key) int64 {
	m, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	n := int64(0)
	for e, err := range s.Read(t.Context(), key, session.Selection{}) {
		require.NoError(t, err)
		n++
		require.Equal(t, n, e.Seq)
	}
	require.Equal(t, n, m.Position)
	return n
}

// A full disk leaves nothing half-written, fails no one else, and is over when there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	_, other := s, at
	m, err := s.Create(t.Context(), session.Key{App: "app", User: "other"}, nil)
	require.NoError(t, err)
	other.Key = m.Key
	_, err = s.writer.c.c.ExecContext(t.Context(), "PRAGMA max_page_count = 60")
	require.NoError(t, err)
	unlock := lock(t, s.path)
	var wg sync.WaitGroup
	big := event1K()
	big.Content.Parts[0].Text = strings.Repeat("x", 1<<20)
	big.Actions.StateDelta = map[string]any{"a": 2, "app:a": 2}
	wg.Go(func() { // both in one transaction
		_, err := s.Append(t.Context(), at, event1K(), big)
		if sqlitedb.Code(err) != 13 ||
			!strings.Contains(
				err.Error(),
				"the disk is full, nothing was written: free some space",
			) {
			t.Error(err)
		}
	})
	wg.Go(func() {
		if _, err := s.Append(t.Context(), other, event1K()); err != nil {
			t.Error(err)
		}
	})
	queued(t, s, 2)
	unlock()
	wg.Wait()
	require.Zero(t, big.Seq)
	require.Empty(t, big.ID)
	require.EqualValues(t, 0, position(t, s, at.Key))
	require.EqualValues(t, 1, position(t, s, other.Key))
	got, err := s.Get(t.Context(), at.Key)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": 1.0}, got.State)
	_, err = s.writer.c.c.ExecContext(t.Context(), "PRAGMA max_page_count = 100000")
	require.NoError(t, err)
	_, err = s.Append(t.Context(), at, event1K(), big)
	require.NoError(t, err)
	require.EqualValues(t, 2, position(t, s, at.Key))
}

// One request that is refused fails no other of its transaction.
func TestBatch(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	m, err := s.Create(t.Context(), session.Key{App: "app", User: "other"}, nil)
	require.NoError(t, err)
	unlock := lock(t, s.path)
	var wg sync.WaitGroup
	var refused, cancelled, fine error
	wg.Go(func() {
		e := event1K()
		e.Actions.StateDelta = map[string]any{"app:a": "not a number"}
		_, refused = s.Append(t.Context(), session.AppendTarget{Key: at.Key}, e, &session.Event{
			Actions: session.Actions{StateIncrement: map[string]float64{"app:a": 1}},
		})
	})
	queued(t, s, 1)
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() { _, cancelled = s.Append(ctx, at, event1K()) })
	queued(t, s, 2)
	wg.Go(func() { _, fine = s.Append(t.Context(), session.AppendTarget{Key: m.Key}, event1K()) })
	queued(t, s, 3)
	cancel()
	queued(t, s, 2) // before the lock is free
	unlock()
	wg.Wait()
	require.ErrorIs(t, refused, session.ErrInvalid)
	require.ErrorIs(t, cancelled, context.Canceled)
	require.NoError(t, fine)
	require.EqualValues(t, 0, position(t, s, at.Key))
	require.EqualValues(t, 1, position(t, s, m.Key))
	got, err := s.Get(t.Context(), m.Key)
	require.NoError(t, err)
	require.Empty(t, got.State)
}

// Another process's lock is waited for, for long, and then the error says so. The context ends it.
func TestLocked(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, 200*time.Millisecond)
	patient, err := open(t.Context(), s.path, s.ttl, 5*time.Minute)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, patient.Close()) })
	unlock := lock(t, s.path)
	began := time.Now()
	_, err = s.Append(t.Context(), at, event1K())
	require.ErrorContains(t, err,
		"another process kept the file locked: find out which (fuser, lsof)")
	require.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = patient.Append(ctx, at, event1K())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualValues(t, 0, position(t, s, at.Key)) // reading goes on
	unlock()
	_, err = s.Append(t.Context(), at, event1K())
	require.NoError(t, err)
	require.EqualValues(t, 1, position(t, s, at.Key))
}

// A damaged file is an error that says so, not a wrong answer.
func TestDamaged(t *testing.T) {
	t.Parallel()
	path, key := made(t)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := 8192; i < len(data); i += 8192 { // all pages but the first
		copy(data[i:], "damage")
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
	s, err := Open(t.Context(), path)
	if err == nil {
		_, err = s.Get(t.Context(), key)
		require.ErrorContains(t, err, "restore a backup")
		_, err = s.Append(t.Context(), session.AppendTarget{Key: key, After: 3}, event1K())
		require.NoError(t, s.Close())
	}
	require.ErrorContains(t, err, "restore a backup")
	require.ErrorContains(t, err, path)
	path, key = made(t)
	run(t, path, "DELETE FROM events WHERE pos & 3 = 2")
	s = openPath(t, path)
	for e, err := range s.Read(t.Context(), key, session.Selection{}) {
		require.Nil(t, e)
		require.ErrorContains(t, err, "restore a backup")
		require.ErrorContains(t, err, "event 2 is not in it")
	}
}

// An event of 50 MB is one like any other.
func TestLargeEvent(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	e := event1K()
	e.Content.Parts[0].Text = strings.Repeat("abcdefghij", 5<<20)
	_, err := s.Append(t.Context(), at, event1K(), e, event1K())
	require.NoError(t, err)
	n := 0
	for got, err := range s.Read(t.Context(), at.Key, session.Selection{}) {
		require.NoError(t, err)
		if n++; n == 2 {
			require.True(t, e.Content.Parts[0].Text == got.Content.Parts[0].Text)
		}
	}
	require.Equal(t, 3, n)
}

// Nothing of a deleted session is left in the file.
func TestDeleteAll(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	e := event1K()
	e.Actions.StateDelta = map[string]any{"a": 2, "b": 2}
	after, err := s.Append(t.Context(), at, e,
		&session.Event{Actions: session.Actions{Rewind: &session.Rewind{}}})
	require.NoError(t, err)
	require.EqualValues(t, 2, after)
	tables := []string{"sessions", "initial", "events", "ids", "marks", "state", "undo"}
	for i, left := range []bool{true, false} {
		if i == 1 {
			require.NoError(t, s.Delete(t.Context(), at.Key))
		}
		for _, table := range tables {
			var n int
			_, err := s.writer.c.row("SELECT count(*) FROM "+table, nil, &n)
			require.NoError(t, err)
			require.Equal(t, left, n > 0, table)
		}
	}
}
