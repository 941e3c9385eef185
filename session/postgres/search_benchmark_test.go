package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// prose returns an event of 1 KB of words as people use them: some often, most seldom.
func prose(n int) *session.Event {
	var text []byte
	for i := 0; len(text) < 1024; i++ {
		word := (n*7919 + i*i*104729) % 1_000_003
		if i%3 > 0 {
			word %= 300
		}
		text = fmt.Appendf(text, "w%d ", word)
	}
	return &session.Event{
		Author:  "agent",
		Content: genai.NewContentFromText(string(text), genai.RoleModel),
	}
}

// BenchmarkIndexedAppend compares appends of a 1 KB event to a store with an index and to one without, in turn. The index
// takes events in beside them, in the same process and database.
func BenchmarkIndexedAppend(b *testing.B) {
	without := newTalk(b, open(b, pgtest.URL(b)), "s", nil)
	s := open(b, pgtest.URL(b))
	require.NoError(b, s.Index(b.Context(), nil))
	with := newTalk(b, s, "s", nil)
	var plain, indexed []time.Duration
	var all, allIndexed time.Duration
	for i := 0; b.Loop(); i++ {
		e := prose(i)
		now := time.Now()
		without.append(b, e)
		plain = append(plain, time.Since(now))
		all += time.Since(now)
		e = prose(i)
		now = time.Now()
		with.append(b, e)
		indexed = append(indexed, time.Since(now))
		allIndexed += time.Since(now)
	}
	b.ReportMetric(float64(median(plain).Nanoseconds())/1e3, "plain-µs")
	b.ReportMetric(float64(median(indexed).Nanoseconds())/1e3, "indexed-µs")
	b.ReportMetric(float64(median(indexed))/float64(median(plain)), "indexed/plain")
	b.ReportMetric(float64(allIndexed)/float64(all), "mean-indexed/plain")
}

// BenchmarkSearch finds the newest 20 of the sessions with a word that stands in 1 % of 100,000 events, in 1,000
// sessions, with the index; and lists the newest 20 of 10,000 sessions of a day.
func BenchmarkSearch(b *testing.B) {
	s := open(b, pgtest.URL(b))
	for i := range 1000 {
		k := newTalk(b, s, fmt.Sprint(i), nil)
		var batch []*session.Event
		for j := range 100 {
			e := prose(i*100 + j)
			if (i*31+j)%100 == 0 {
				e.Content.Parts[0].Text += "refund"
			}
			batch = append(batch, e)
		}
		k.append(b, batch...)
	}
	for i := range 9000 {
		newTalk(b, s, fmt.Sprint(1000+i), nil)
	}
	now := time.Now()
	require.NoError(b, s.Index(b.Context(), nil))
	b.Logf("the index was made within %v", time.Since(now))
	took := map[string][]time.Duration{}
	b.ResetTimer()
	for b.Loop() {
		for name, q := range map[string]session.Query{
			"word":      {Match: "refund", Limit: 20},
			"frequent":  {Match: "w7 w8", Limit: 20},
			"since":     {Since: now.Add(-24 * time.Hour), Limit: 20},
			"all-since": {Since: now.Add(-24 * time.Hour)},
		} {
			begin := time.Now()
			n := 0
			for _, err := range s.Search(b.Context(), q) {
				require.NoError(b, err)
				n++
			}
			took[name] = append(took[name], time.Since(begin))
			require.GreaterOrEqual(b, n, q.Limit)
		}
	}
	for name, t := range took {
		b.ReportMetric(float64(median(t).Nanoseconds())/1e3, name+"-µs")
	}
}
