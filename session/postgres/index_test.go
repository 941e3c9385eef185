package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
)

// spoken returns an event with a text.
func spoken(text string) *session.Event {
	e := session.Message(text)
	e.ID = session.NewID()
	return e
}

// hits returns how many sessions have an event with a word.
func hits(t testing.TB, s *postgres.Store, word string) (n int) {
	t.Helper()
	for _, err := range s.Search(context.Background(), session.Query{Match: word}) {
		require.NoError(t, err)
		n++
	}
	return n
}

// While one process makes the index, removes it and makes it again, others append, in every way there is and at every
// level of isolation: no word is lost.
func TestNoWordIsLostWhileTheIndexIsMade(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	one := open(t, url)
	var stores []*postgres.Store
	for _, level := range []string{"read%20committed", "repeatable%20read", "serializable"} {
		stores = append(stores, open(t, url+"&default_transaction_isolation="+level))
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	var allowed atomic.Int64 // events of each session: each is looked for in the end
	const more = 20          // with each step of the index
	counts := make([]int, 6)
	for i := range counts {
		s := stores[i%len(stores)]
		k := newTalk(t, s, fmt.Sprint(i), nil)
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if int64(counts[i]) >= allowed.Load() {
					time.Sleep(time.Millisecond)
					continue
				}
				e := spoken(fmt.Sprintf("common s%dn%d", i, counts[i]))
				if i > 2 {
					e.Actions.StateDelta = map[string]any{"n": counts[i]}
				}
				if i > 4 { // not in one round trip
					e.Actions.StateIncrement = map[string]float64{"app:n": 1}
					e.Actions.StateBound = map[string]float64{"app:n": 1e9}
				}
				last, err := s.Append(context.Background(), k.at, e)
				if err != nil {
					t.Error(err)
					return
				}
				k.at.After = last
				counts[i]++
			}
		})
	}
	for range contract.Times(1) {
		allowed.Add(more)
		require.NoError(t, one.Index(t.Context(), nil))
		allowed.Add(more)
		require.NoError(t, one.DropIndex(t.Context()))
	}
	allowed.Add(more)
	require.NoError(t, one.Index(t.Context(), nil))
	close(stop)
	all.Wait()
	require.NoError(t, one.Index(t.Context(), nil))
	is, err := one.Indexed(t.Context())
	require.NoError(t, err)
	require.True(t, is)
	for i, n := range counts {
		for j := range n {
			require.Equal(t, 1, hits(t, one, fmt.Sprintf("s%dn%d", i, j)), "event %d of session %d",
				j, i)
		}
	}
}

// What is deleted while it is taken into the index leaves nothing in it.
func TestDeletedSessionsLeaveNoWords(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	other := open(t, url)
	require.NoError(t, s.Index(t.Context(), nil))
	var all sync.WaitGroup
	for worker := range 3 {
		all.Go(func() {
			for i := range 20 {
				key := session.Key{App: "a", User: "u", ID: fmt.Sprintf("%d-%d", worker, i)}
				_, err := s.Create(context.Background(), key, nil)
				var batch []*session.Event
				for n := range 70 {
					batch = append(batch, spoken(fmt.Sprint("word ", n)))
				}
				if err == nil {
					_, err = s.Append(
						context.Background(),
						session.AppendTarget{Key: key},
						batch...)
				}
				if err == nil {
					err = s.Delete(context.Background(), key)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for working := true; working; {
		select {
		case <-done:
			working = false
		default:
			if err := other.Index(t.Context(), nil); err != nil &&
				!errors.Is(err, session.ErrNotFound) {
				t.Error(err)
				<-done
				working = false
			}
		}
	}
	require.NoError(t, other.Index(t.Context(), nil))
	require.Zero(t, hits(t, s, "word"))
	sql(t, url, "SELECT 1 / (SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END FROM plughook_words)")
	sql(t, url,
		"SELECT 1 / (SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END FROM plughook_unindexed)")
}

// Who appends takes events into the index, without a search and without Index.
func TestTheIndexIsTakenFurtherByWhoAppends(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	require.NoError(t, s.Index(t.Context(), nil))
	k := newTalk(t, s, "s", nil)
	for i := range 200 {
		k.append(t, spoken(fmt.Sprint("word ", i)))
	}
	require.NoError(t, s.Close()) // waits for what is being taken in
	sql(t, url,
		"SELECT 1 / (SELECT CASE WHEN count(*) >= 64 THEN 1 ELSE 0 END FROM plughook_words)")
	s = open(t, url)
	require.Equal(t, 1, hits(t, s, "word 199"))
	require.Equal(t, 1, hits(t, s, "word 0"))
}
