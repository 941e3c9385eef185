package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

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

// BenchmarkIndexedAppend compares appends of a 1 KB event to a store with an index and to one without, in turn.
func BenchmarkIndexedAppend(b *testing.B) {
	without := newAppender(b, openTest(b), nil)
	with := newAppender(b, openTest(b), nil)
	require.NoError(b, with.Index(b.Context(), nil))
	var plain, indexed times
	var all, allIndexed time.Duration
	for i := 0; b.Loop(); i++ {
		e := prose(i)
		now := time.Now()
		without.append(b, e)
		plain.add(now)
		all += time.Since(now)
		e = prose(i)
		now = time.Now()
		with.append(b, e)
		indexed.add(now)
		allIndexed += time.Since(now)
	}
	report(b, "plain", plain.p50())
	report(b, "indexed", indexed.p50())
	b.ReportMetric(float64(indexed.p50())/float64(plain.p50()), "indexed/plain")
	b.ReportMetric(float64(allIndexed)/float64(all), "mean-indexed/plain")
}

// BenchmarkSearch finds the newest 20 of the sessions with a word that stands in 1 % of 100,000 events, in 1,000
// sessions, with the index; and lists the newest 20 of 10,000 sessions of a day.
func BenchmarkSearch(b *testing.B) {
	s := openTest(b)
	require.NoError(b, s.Index(b.Context(), nil))
	for i := range 1000 {
		a := newAppender(b, s, nil)
		var batch []*session.Event
		for j := range 100 {
			e := prose(i*100 + j)
			if (i*31+j)%100 == 0 {
				e.Content.Parts[0].Text += "refund"
			}
			batch = append(batch, e)
		}
		a.append(b, batch...)
	}
	for range 9000 {
		newAppender(b, s, nil)
	}
	now := time.Now()
	require.NoError(b, s.Index(b.Context(), nil))
	b.Logf("what waited was taken in within %v", time.Since(now))
	b.ResetTimer()
	var word, two, since, scan times
	for b.Loop() {
		for _, c := range []struct {
			q    session.Query
			took *times
		}{
			{session.Query{Match: "refund", Limit: 20}, &word},
			{session.Query{Match: "w7 w8", Limit: 20}, &two},
			{session.Query{Since: now.Add(-24 * time.Hour), Limit: 20}, &since},
			{session.Query{Since: now.Add(-24 * time.Hour)}, &scan},
		} {
			begin := time.Now()
			n := 0
			for _, err := range s.Search(b.Context(), c.q) {
				require.NoError(b, err)
				n++
			}
			c.took.add(begin)
			require.GreaterOrEqual(b, n, c.q.Limit)
		}
	}
	report(b, "word", word.p50())
	report(b, "frequent", two.p50())
	report(b, "since", since.p50())
	report(b, "all-since", scan.p50())
}
