package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/store"
)

// A log of several pages reads as Memory reads it, whatever is selected.
func TestReadPages(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	memory := memory.New()
	key := session.Key{App: "app", User: "user", ID: "s"}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	position := int64(0)
	appendBoth := func(events ...*session.Event) {
		for _, e := range events {
			e.ID = session.NewID()
			e.Timestamp = begin.Add(rand.N(1000 * time.Nanosecond))
		}
		for _, svc := range []session.Service{s, memory} {
			after, err := svc.Append(
				t.Context(),
				session.AppendTarget{Key: key, After: position},
				events...)
			require.NoError(t, err)
			if svc == memory {
				position = after
			}
			for _, e := range events {
				e.Seq = 0
			}
		}
	}
	for _, svc := range []session.Service{s, memory} {
		_, err := svc.Create(t.Context(), key, nil)
		require.NoError(t, err)
	}
	fill := func(n int) {
		for range n / 100 {
			var batch []*session.Event
			for range 100 {
				e := session.Message("x")
				if rand.N(300) == 0 {
					e = session.Message(strings.Repeat("large ", 60_000))
				}
				batch = append(batch, e)
			}
			appendBoth(batch...)
		}
	}
	read := func(svc session.Service, sel session.Selection) (list []string) {
		for e, err := range svc.Read(t.Context(), key, sel) {
			require.NoError(t, err)
			list = append(list, fmt.Sprint(e.Seq, " ", e.ID))
		}
		return list
	}
	compare := func() {
		for range 15 {
			sel := session.Selection{Live: rand.N(2) == 0}
			if rand.N(2) == 0 {
				sel.After = rand.Int64N(position+100) - 50
			}
			if rand.N(2) == 0 {
				sel.Last = rand.N(int(position) + 100)
			}
			if rand.N(2) == 0 {
				sel.Since = begin.Add(rand.N(1050 * time.Nanosecond))
			}
			require.Equal(t, read(memory, sel), read(s, sel), "%+v", sel)
		}
	}
	fill(1500)
	compare()
	c := &session.Event{Author: "plugin/compaction"}
	c.Actions.Compaction = &session.Compaction{
		Through: 700,
		Content: genai.NewContentFromText("what was", genai.RoleUser),
	}
	for k := int64(3); k < 700; k += 1 + rand.Int64N(3) {
		c.Actions.Compaction.Keep = append(c.Actions.Compaction.Keep, k)
	}
	appendBoth(c)
	fill(200)
	compare()
	r := &session.Event{Author: "plugin/rewind"}
	r.Actions.Rewind = &session.Rewind{To: 1400}
	appendBoth(r)
	fill(100)
	compare()
}

// No transaction is open while the loop's body runs: it may do anything to the store.
func TestReadBody(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	for range 8 {
		var batch []*session.Event
		for range 100 {
			batch = append(batch, session.Message("x"))
		}
		var err error
		at.After, err = s.Append(t.Context(), at, batch...)
		require.NoError(t, err)
	}
	n := int64(0)
	last := at.After
	for e, err := range s.Read(t.Context(), at.Key, session.Selection{}) {
		require.NoError(t, err)
		if n++; n%100 == 0 {
			at.After, err = s.Append(t.Context(), at, session.Message("more"))
			require.NoError(t, err)
			c := another(t, s).writer.c
			var busy, log, moved int
			_, err = c.row("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, &log, &moved)
			require.NoError(t, err)
			require.Zero(t, busy, "something reads the log")
		}
		require.Equal(t, n, e.Seq)
	}
	require.Equal(t, last, n, "what was appended meanwhile is not read")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n = 0
	for _, err := range s.Read(ctx, at.Key, session.Selection{}) {
		if n++; n == 10 {
			cancel()
		} else if n > 10 {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.EqualValues(t, 11, n)
	n = 0
	for _, err := range s.Read(t.Context(), at.Key, session.Selection{}) {
		if n++; n == 10 {
			require.NoError(t, s.Delete(t.Context(), at.Key))
		} else if n > 512 {
			require.ErrorIs(t, err, session.ErrNotFound)
		}
	}
	require.EqualValues(t, 513, n)
	for range s.Read(t.Context(), at.Key, session.Selection{}) {
		require.NoError(t, s.Close())
	}
}

// Sessions are listed page by page, in the order of their creation, those that are there.
func TestListPages(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	var want []string
	for i := range 300 {
		m, err := s.Create(t.Context(), session.Key{App: "app", User: fmt.Sprint("user", i%2)}, nil)
		require.NoError(t, err)
		want = append(want, m.ID)
	}
	list := func(app, user string, each func(i int)) (ids []string) {
		for m, err := range s.List(t.Context(), app, user) {
			require.NoError(t, err)
			ids = append(ids, m.ID)
			each(len(ids))
		}
		return ids
	}
	require.Equal(t, want, list("app", "", func(int) {}))
	require.Len(t, list("app", "user1", func(int) {}), 150)
	require.Empty(t, list("", "user1", func(int) {}))
	require.Len(t, list("", "", func(i int) {
		if i == 1 { // of the second page one goes, and one more does not come
			require.NoError(t,
				s.Delete(t.Context(), session.Key{App: "app", User: "user0", ID: want[200]}))
			_, err := s.Create(t.Context(), session.Key{App: "app", User: "user0"}, nil)
			require.NoError(t, err)
		}
	}), 299)
}

// The write-ahead log does not grow without end beside reads that follow one another.
func TestLogBounded(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				for range s.Read(ctx, at.Key, session.Selection{Last: 20}) {
				}
			}
		})
	}
	large := strings.Repeat("large ", 50_000)
	// What is appended comes to twice the log. When a commit finds no read under way is a matter of luck.
	for appended, size := 0, int64(1); int64(appended) < 2*size; appended += len(large) {
		require.Less(t, appended, 300<<20, "the log has %d bytes", size)
		var err error
		at.After, err = s.Append(t.Context(), at, session.Message(large))
		require.NoError(t, err)
		f, err := os.Stat(s.path + "-wal")
		require.NoError(t, err)
		size = f.Size()
	}
	cancel()
	wg.Wait()
}

// A file takes little more than the events in it.
func TestStorage(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	size := 0
	for range 20 {
		var batch []*session.Event
		for range 100 {
			e := event1K()
			batch = append(batch, e)
		}
		records, err := store.Records(at.Key, batch)
		require.NoError(t, err)
		for _, r := range records {
			size += len(r.Data)
		}
		at.After, err = s.Append(t.Context(), at, batch...)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	f, err := os.Stat(s.path)
	require.NoError(t, err)
	require.Less(t, float64(f.Size()), 1.25*float64(size))
}
