package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
)

// spoken returns an event with a text.
func spoken(text string) *session.Event {
	return &session.Event{Author: "agent", Content: genai.NewContentFromText(text, genai.RoleModel)}
}

// hits returns how many sessions have an event with a word.
func hits(t testing.TB, s *Store, word string) (n int) {
	t.Helper()
	for _, err := range s.Search(context.Background(), session.Query{Match: word}) {
		require.NoError(t, err)
		n++
	}
	return n
}

// While one process makes the index, removes it and makes it again, another appends: no word is lost.
func TestNoWordIsLostWhileTheIndexIsMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	one, other := openPath(t, path), openPath(t, path)
	stop := make(chan struct{})
	var all sync.WaitGroup
	var keys []session.Key
	for i := range 4 {
		m, err := other.Create(t.Context(),
			session.Key{App: "app", User: "user", ID: fmt.Sprint(i)}, nil)
		require.NoError(t, err)
		keys = append(keys, m.Key)
	}
	counts := make([]int, len(keys))
	for i, key := range keys {
		all.Go(func() {
			at := session.AppendTarget{Key: key}
			for {
				select {
				case <-stop:
					return
				default:
				}
				last, err := other.Append(context.Background(), at,
					spoken(fmt.Sprintf("common s%dn%d", i, counts[i])))
				if err != nil {
					t.Error(err)
					return
				}
				at.After = last
				counts[i]++
			}
		})
	}
	for range 5 {
		require.NoError(t, one.Index(t.Context(), nil))
		require.LessOrEqual(t, hits(t, one, "common"), len(keys))
		require.NoError(t, one.DropIndex(t.Context()))
	}
	require.NoError(t, one.Index(t.Context(), nil))
	close(stop)
	all.Wait()
	require.NoError(t, one.Index(t.Context(), nil))
	for i, n := range counts {
		for j := range n {
			require.Equal(t, 1, hits(t, one, fmt.Sprintf("s%dn%d", i, j)), "event %d of session %d",
				j, i)
		}
	}
}

// What an ended Index has left is taken in by the next.
func TestAnEndedIndexGoesOn(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	m, err := s.Create(t.Context(), session.Key{App: "app", User: "user"}, nil)
	require.NoError(t, err)
	var batch []*session.Event
	for i := range 1000 {
		batch = append(batch, spoken(fmt.Sprintf("common n%d", i)))
	}
	_, err = s.Append(t.Context(), session.AppendTarget{Key: m.Key}, batch...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var left int64
	err = s.Index(ctx, func(_, l int64) {
		left = l
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Positive(t, left)
	require.Equal(t, 1, hits(t, s, "n0"))
	require.Equal(t, 1, hits(t, s, "n999"))
	var done int64
	require.NoError(t, s.Index(t.Context(), func(d, l int64) { done, left = d, l }))
	require.Zero(t, left)
	require.Less(t, done, int64(1000))
	require.Equal(t, 1, hits(t, s, "n0"))
	require.Equal(t, 1, hits(t, s, "n999"))
	is, err := s.Indexed(t.Context())
	require.NoError(t, err)
	require.True(t, is)
}

// The index has the words of events as they are stored, each event once, and nothing of deleted sessions.
func TestTheIndexHoldsWhatTheLogHolds(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	require.NoError(t, s.Index(t.Context(), nil))
	rows := func() (indexed, waiting, noted int64) {
		require.NoError(t, s.view(t.Context(), func(c *conn) error {
			_, err := c.row(
				"SELECT (SELECT count(*) FROM words_docsize), (SELECT coalesce(sum(last - first + 1), 0) FROM unindexed), (SELECT pending FROM word_index)",
				nil,
				&indexed,
				&waiting,
				&noted,
			)
			return err
		}))
		return indexed, waiting, noted
	}
	var keys []session.Key
	for range 3 {
		m, err := s.Create(t.Context(), session.Key{App: "app", User: "user"}, nil)
		require.NoError(t, err)
		keys = append(keys, m.Key)
		at := session.AppendTarget{Key: m.Key}
		for i := range 50 {
			at.After, err = s.Append(t.Context(), at, spoken(fmt.Sprint("word ", i)))
			require.NoError(t, err)
		}
	}
	indexed, waiting, noted := rows()
	require.EqualValues(t, 150, indexed+waiting)
	require.Equal(t, waiting, noted)
	require.Less(t, waiting, int64(sqlstore.IndexFrom))
	for _, key := range keys {
		require.NoError(t, s.Delete(t.Context(), key))
	}
	indexed, waiting, noted = rows()
	require.Zero(t, indexed+waiting+noted)
}

// A large append is taken in by itself: what waits does not grow.
func TestALargeAppendIsTakenIn(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	require.NoError(t, s.Index(t.Context(), nil))
	m, err := s.Create(t.Context(), session.Key{App: "app", User: "user"}, nil)
	require.NoError(t, err)
	at := session.AppendTarget{Key: m.Key}
	for range 3 {
		var batch []*session.Event
		for range 700 {
			batch = append(batch, spoken("word"))
		}
		at.After, err = s.Append(t.Context(), at, batch...)
		require.NoError(t, err)
		require.NoError(t, s.view(t.Context(), func(c *conn) error {
			n, indexed, err := pending(c)
			require.True(t, indexed)
			require.Less(t, n, int64(sqlstore.IndexFrom))
			return err
		}))
	}
}
