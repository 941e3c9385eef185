package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
)

// said returns an event with 1 KB of text that does not compress to nothing.
func said(i int) *session.Event {
	var text strings.Builder
	for n := i * 7919; text.Len() < 1024; n = n*1103515245 + 12345 {
		fmt.Fprintf(&text, "%x ", uint32(n))
	}
	e := session.Message(text.String()[:1024])
	e.ID = session.NewID()
	e.InvocationID = session.NewID()
	e.Author = "assistant"
	return e
}

// a talk appends to one session.
type talk struct {
	store *postgres.Store
	at    session.AppendTarget
}

func newTalk(t testing.TB, s *postgres.Store, id string, state map[string]any) *talk {
	c, err := s.Create(t.Context(), session.Key{App: "bench", User: "user", ID: id}, state)
	require.NoError(t, err)
	return &talk{s, session.AppendTarget{Key: c.Key}}
}

func (k *talk) append(t testing.TB, e ...*session.Event) {
	last, err := k.store.Append(context.Background(), k.at, e...)
	require.NoError(t, err)
	k.at.After = last
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkAppend times one-event appends of several kinds in turn, beside the floor: one prepared
// INSERT of the same bytes. It reports medians in µs, and how many times the floor they are.
func BenchmarkAppend(b *testing.B) {
	url := pgtest.URL(b)
	s := open(b, url)
	conn, err := pgx.Connect(b.Context(), url)
	require.NoError(b, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(b.Context(),
		"CREATE TABLE floor (sid bigint, seq bigint, data bytea, PRIMARY KEY (sid, seq))")
	require.NoError(b, err)
	plain := newTalk(b, s, "plain", nil)
	fenced := newTalk(b, s, "fenced", nil)
	big := newTalk(b, s, "big", map[string]any{"big": strings.Repeat("x1y2", 1<<18)})
	counted := newTalk(b, s, "counted", nil)
	lease, err := s.Lease(b.Context(), fenced.at.Key, "")
	require.NoError(b, err)
	defer lease.Release()
	fenced.at.Fence = lease.Fence
	n := 0
	kinds := []struct {
		name string
		do   func()
	}{
		{"floor", func() {
			data, err := said(n).MarshalJSON()
			require.NoError(b, err)
			_, err = conn.Exec(b.Context(), "INSERT INTO floor VALUES (1, $1, $2)", n, data)
			require.NoError(b, err)
		}},
		{"plain", func() { plain.append(b, said(n)) }},
		{"fence+delta", func() {
			e := said(n)
			e.Actions.StateDelta = map[string]any{"step": n}
			fenced.append(b, e)
		}},
		{"1MB-state", func() { big.append(b, said(n)) }},
		{"increment", func() {
			e := said(n)
			e.Actions.StateIncrement = map[string]float64{"app:n": 1}
			counted.append(b, e)
		}},
	}
	took := make([][]time.Duration, len(kinds))
	for b.Loop() {
		n++
		for i := range kinds {
			i = (i + n) % len(kinds)
			start := time.Now()
			kinds[i].do()
			if d := time.Since(start); n > 20 || b.N < 40 {
				took[i] = append(took[i], d)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, k := range kinds {
		b.ReportMetric(float64(median(took[i]).Nanoseconds())/1e3, k.name+"-µs")
		b.ReportMetric(float64(median(took[i]))/float64(median(took[0])), k.name+"-×floor")
	}
}

// BenchmarkSessions has 1 and 8 sessions append at once.
func BenchmarkSessions(b *testing.B) {
	for _, c := range []struct {
		name  string
		count int
		delta func(session int) map[string]any
	}{
		{"1", 1, nil},
		{"8", 8, nil},
		{"8 same app key", 8, func(int) map[string]any { return map[string]any{"app:last": 1} }},
		{"8 distinct app keys", 8, func(i int) map[string]any { return map[string]any{fmt.Sprintf("app:%d", i): 1} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b, pgtest.URL(b))
			var all sync.WaitGroup
			b.ResetTimer()
			for i := range c.count {
				k := newTalk(b, s, fmt.Sprint(i), nil)
				all.Go(func() {
					for n := range (b.N + c.count - 1) / c.count {
						e := said(n)
						if c.delta != nil {
							e.Actions.StateDelta = c.delta(i)
						}
						k.append(b, e)
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// BenchmarkStart reads what an invocation starts with, of logs of several lengths of which a compaction
// stands for all but the last 50 events: of each in turn, so bytes and allocations are those of four.
func BenchmarkStart(b *testing.B) {
	s := open(b, pgtest.URL(b))
	lengths := []int{100, 1_000, 10_000, 100_000}
	var talks []*talk
	for _, length := range lengths {
		k := newTalk(b, s, fmt.Sprint(length), map[string]any{"k": "v"})
		fill(b, k, length-51)
		k.append(b, compaction(k.at.After))
		fill(b, k, 50)
		talks = append(talks, k)
	}
	took := make([][]time.Duration, len(talks))
	b.ReportAllocs()
	for b.Loop() {
		for i, k := range talks {
			start := time.Now()
			c, err := s.Get(b.Context(), k.at.Key)
			require.NoError(b, err)
			live := 0
			for _, err := range s.Read(b.Context(), c.Key, session.Selection{Live: true}) {
				require.NoError(b, err)
				live++
			}
			took[i] = append(took[i], time.Since(start))
			require.Equal(b, 51, live)
		}
	}
	for i, length := range lengths {
		b.ReportMetric(float64(median(took[i]).Nanoseconds())/1e3, fmt.Sprint(length, "-µs"))
	}
}

func fill(t testing.TB, k *talk, n int) {
	for n > 0 {
		var batch []*session.Event
		for range min(n, 1000) {
			batch = append(batch, said(n))
			n--
		}
		k.append(t, batch...)
	}
}

// compaction returns an event that stands for every one up to a position.
func compaction(through int64) *session.Event {
	return &session.Event{ID: session.NewID(), Author: "plugin/compaction",
		Actions: session.Actions{
			Compaction: &session.Compaction{
				Through: through,
				Content: genai.NewContentFromText("summary", genai.RoleUser),
			},
		}}
}

// BenchmarkSize reports the bytes on disk, indexes and all, per byte of the events' JSON.
func BenchmarkSize(b *testing.B) {
	url := pgtest.URL(b)
	k := newTalk(b, open(b, url), "s", nil)
	n := 0
	for b.Loop() {
		k.append(b, said(n))
		n++
	}
	pool, err := pgxpool.New(b.Context(), url)
	require.NoError(b, err)
	defer pool.Close()
	var disk, data float64
	require.NoError(b, pool.QueryRow(b.Context(), `
		SELECT (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relkind = 'r' AND c.relname LIKE 'plughook%' AND c.relname <> 'plughook_migrations'),
			(SELECT sum(octet_length(data)) FROM plughook_events)`).Scan(&disk, &data))
	b.ReportMetric(disk/data, "×data")
	b.ReportMetric(data/float64(n), "B/event")
}
