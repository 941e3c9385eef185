package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/sqlitedb"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// event1K returns an event with a text of 1 KB.
func event1K() *session.Event {
	text := make([]byte, 1024)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyz     "[rand.N(31)]
	}
	return &session.Event{InvocationID: "e-" + session.NewID(), Author: "agent",
		Content: genai.NewContentFromText(string(text), genai.RoleModel)}
}

func size1K(b testing.TB) int {
	r, err := store.Records(session.Key{}, []*session.Event{event1K()})
	require.NoError(b, err)
	return len(r[0].Data)
}

// times are what one kind of operation took.
type times []time.Duration

func (t *times) add(since time.Time) { *t = append(*t, time.Since(since)) }

func (t times) p50() time.Duration {
	slices.Sort(t)
	return t[len(t)/2]
}

func report(b *testing.B, name string, d time.Duration) {
	b.ReportMetric(float64(d)/float64(time.Microsecond), name+"-p50-µs")
}

// appender appends events one after the other.
type appender struct {
	*Store
	at session.AppendTarget
}

func newAppender(b *testing.B, s *Store, state map[string]any) *appender {
	m, err := s.Create(b.Context(), session.Key{App: "app", User: "user"}, state)
	require.NoError(b, err)
	return &appender{Store: s, at: session.AppendTarget{Key: m.Key}}
}

func (a *appender) append(b *testing.B, events ...*session.Event) {
	after, err := a.Append(b.Context(), a.at, events...)
	if err != nil {
		b.Fatal(err)
	}
	a.at.After = after
}

// BenchmarkAppend compares appends of a 1 KB event, each in a file of its own, with an INSERT of the
// same bytes into a table without anything. One of each per iteration, so that all have the same weather.
func BenchmarkAppend(b *testing.B) {
	floor, err := dialNew(filepath.Join(b.TempDir(), "floor.db"), "page_size = 8192",
		"journal_mode = WAL", "synchronous = FULL")
	require.NoError(b, err)
	defer floor.close()
	_, err = floor.exec("CREATE TABLE floor (id INTEGER PRIMARY KEY, data BLOB)")
	require.NoError(b, err)
	plain := newAppender(b, openTest(b), nil)
	fenced := newAppender(b, openTest(b), nil)
	lease, err := fenced.Lease(b.Context(), fenced.at.Key, "")
	require.NoError(b, err)
	defer lease.Release()
	fenced.at.Fence = lease.Fence
	big := map[string]any{}
	for i := range 1000 {
		big[fmt.Sprint("key", i)] = string(make([]byte, 1000/6)) // as six characters each
	}
	beside := newAppender(b, openTest(b), big)
	data := make([]byte, size1K(b))
	var f, p, d, s times
	for i := 0; b.Loop(); i++ {
		now := time.Now()
		if _, err := floor.exec("INSERT INTO floor VALUES (?, ?)", i, data); err != nil {
			b.Fatal(err)
		}
		f.add(now)
		e := event1K()
		now = time.Now()
		plain.append(b, e)
		p.add(now)
		e = event1K()
		e.Actions.StateDelta = map[string]any{"step": i}
		now = time.Now()
		fenced.append(b, e)
		d.add(now)
		e = event1K()
		now = time.Now()
		beside.append(b, e)
		s.add(now)
	}
	report(b, "floor", f.p50())
	report(b, "append", p.p50())
	report(b, "fence+delta", d.p50())
	report(b, "beside-1MB", s.p50())
	b.ReportMetric(float64(p.p50())/float64(f.p50()), "append/floor")
	b.ReportMetric(float64(d.p50())/float64(f.p50()), "fence+delta/floor")
	b.ReportMetric(float64(s.p50())/float64(p.p50()), "beside/append")
}

// BenchmarkSessions is the throughput of many sessions that append at once.
func BenchmarkSessions(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openTest(b)
			var wg sync.WaitGroup
			var left = make(chan struct{})
			for range n {
				a := newAppender(b, s, nil)
				wg.Go(func() {
					for range left {
						a.append(b, event1K())
					}
				})
			}
			b.ResetTimer()
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkStart is what an invocation begins with, Get and the live view, on logs of which a
// compaction stands for all but 50 events.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := newAppender(b, openTest(b), map[string]any{"topic": "all", "user:name": "Ada"})
			long(b, a, n)
			b.ReportAllocs()
			var t times
			for b.Loop() {
				now := time.Now()
				require.Equal(b, 51, start(b, a))
				t.add(now)
			}
			report(b, "start", t.p50())
		})
	}
}

// BenchmarkBeside is BenchmarkStart at 100 events, in a store that holds nothing else and in one that holds
// 100,000 events of other sessions, in lease.
func BenchmarkBeside(b *testing.B) {
	alone := newAppender(b, openTest(b), nil)
	beside := newAppender(b, openTest(b), nil)
	long(b, alone, 100)
	for range 10 {
		other := newAppender(b, beside.Store, nil)
		long(b, other, 10_000)
	}
	long(b, beside, 100)
	var one, two times
	for b.Loop() {
		now := time.Now()
		start(b, alone)
		one.add(now)
		now = time.Now()
		start(b, beside)
		two.add(now)
	}
	report(b, "alone", one.p50())
	report(b, "beside", two.p50())
	b.ReportMetric(float64(two.p50())/float64(one.p50()), "beside/alone")
}

// long appends n events, the last but 50 of which a compaction stands for.
func long(b *testing.B, a *appender, n int) {
	var batch []*session.Event
	for i := range n {
		if i == n-50 && len(batch) > 0 || len(batch) == 500 {
			a.append(b, batch...)
			batch = nil
		}
		if i == n-50 {
			c := &session.Event{Author: "plugin/compaction"}
			c.Actions.Compaction = &session.Compaction{
				Through: a.at.After,
				Content: genai.NewContentFromText("what was", genai.RoleUser),
			}
			batch = append(batch, c)
		}
		batch = append(batch, event1K())
	}
	a.append(b, batch...)
}

func start(b *testing.B, a *appender) (live int) {
	m, err := a.Get(b.Context(), a.at.Key)
	if err != nil || m.Position != a.at.After {
		b.Fatal(err, m)
	}
	for _, err := range a.Read(b.Context(), a.at.Key, session.Selection{Live: true}) {
		if err != nil {
			b.Fatal(err)
		}
		live++
	}
	return live
}

// BenchmarkStorage is the size of the file, per byte of the events' JSON.
func BenchmarkStorage(b *testing.B) {
	for _, sessions := range []int{1, 100} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			for range b.N {
				s, err := Open(b.Context(), filepath.Join(b.TempDir(), "sessions.db"))
				require.NoError(b, err)
				var list []*appender
				for range sessions {
					list = append(list, newAppender(b, s, nil))
				}
				const events = 20_000
				for range events / sessions / 10 {
					for _, a := range list {
						var batch []*session.Event
						for range 10 {
							batch = append(batch, event1K())
						}
						a.append(b, batch...)
					}
				}
				require.NoError(b, s.Close())
				f, err := os.Stat(s.path)
				require.NoError(b, err)
				b.ReportMetric(float64(f.Size())/float64(events*size1K(b)), "file/json")
			}
		})
	}
}

// BenchmarkLease is taking a lease and giving it back.
func BenchmarkLease(b *testing.B) {
	a := newAppender(b, openTest(b), nil)
	for b.Loop() {
		t, err := a.Lease(context.Background(), a.at.Key, "")
		if err != nil {
			b.Fatal(err)
		}
		t.Release()
	}
}

// BenchmarkWhole is the reading of a whole log of 10,000 events, none of which a compaction stands for,
// against the driver's own scan of the same rows with the same decoding.
func BenchmarkWhole(b *testing.B) {
	s := openTest(b)
	a := newAppender(b, s, nil)
	for range 20 {
		var batch []*session.Event
		for range 500 {
			batch = append(batch, event1K())
		}
		a.append(b, batch...)
	}
	db := sqlitedb.Open(s.path, sqlitedb.ReadWrite)
	defer db.Close()
	var whole, scan times
	for b.Loop() {
		now := time.Now()
		require.Equal(b, 10_000, start(b, a))
		whole.add(now)

		now = time.Now()
		rows, err := db.Query("SELECT pos, data FROM events ORDER BY pos")
		require.NoError(b, err)
		n := 0
		for rows.Next() {
			var pos int64
			var data []byte
			require.NoError(b, rows.Scan(&pos, &data))
			_, err := store.Decode(data, pos)
			require.NoError(b, err)
			n++
		}
		require.NoError(b, rows.Err())
		require.Equal(b, 10_000, n)
		scan.add(now)
	}
	report(b, "whole", whole.p50())
	report(b, "scan", scan.p50())
	b.ReportMetric(float64(whole.p50())/float64(scan.p50()), "whole/scan")
}
