package stats_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/stats"
)

// made is a store whose logs are made when they are read.
type made struct {
	keys []session.Key
	log  func(session.Key) iter.Seq[*session.Event]
}

func (m made) Get(context.Context, session.Key) (*session.Session, error) { panic("nobody asks") }

func (m made) Read(
	_ context.Context,
	key session.Key,
	_ session.Selection,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for e := range m.log(key) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m made) list(yield func(*session.Session, error) bool) {
	for _, key := range m.keys {
		if !yield(&session.Session{Key: key, Updated: time.Now()}, nil) {
			return
		}
	}
}

// anyEvent draws an event: of any author, model, invocation and day, with or without tokens, calls and responses whose
// ids repeat.
func anyEvent(t *rapid.T) *session.Event {
	e := &session.Event{
		InvocationID: rapid.SampledFrom([]string{"", "i1", "i2", "i3"}).Draw(t, "invocation"),
		Author: rapid.SampledFrom([]string{"", "user", "desk", "clerk", "plugin/x"}).
			Draw(t, "author"),
		ModelVersion: rapid.SampledFrom([]string{"", "big", "small"}).Draw(t, "model"),
		ErrorCode:    rapid.SampledFrom([]string{"", "", "DENIED", "MODEL"}).Draw(t, "error"),
	}
	if minutes := rapid.IntRange(-1, 5000).Draw(t, "minutes"); minutes >= 0 {
		e.Timestamp = at("2026-03-01T00:00:00Z").Add(time.Duration(minutes) * time.Minute)
	}
	n := rapid.Int32Range(-2, 100_000)
	if rapid.Bool().Draw(t, "usage") {
		e.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount:        n.Draw(t, "prompt"),
			CachedContentTokenCount: n.Draw(t, "cached"),
			CandidatesTokenCount:    n.Draw(t, "output"),
			ThoughtsTokenCount:      n.Draw(t, "thoughts"),
		}
	}
	id := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id")
	name := rapid.SampledFrom([]string{"", "find", "pay"}).Draw(t, "tool")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0, 1:
		e.Content = &genai.Content{
			Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: id, Name: name}}, nil},
		}
	case 2, 3:
		response := map[string]any{}
		if says := rapid.SampledFrom([]string{"", "error", "declined", "interrupted"}).Draw(t, "says"); says != "" {
			response[says] = true
		}
		e.Content = &genai.Content{
			Parts: []*genai.Part{
				{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: response}},
			},
		}
	case 4:
		e.LongRunningToolIDs = []string{id}
		e.Actions.Compaction = &session.Compaction{}
		e.CustomMetadata = map[string]any{
			"compaction": map[string]any{"before": float64(n.Draw(t, "before")), "after": 5.0},
		}
	}
	return e
}

// The sums of the groups add up to the sums of all, whatever they are grouped by, and the total is the same each time.
func TestTheGroupsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := map[session.Key][]*session.Event{}
		store := made{
			log: func(key session.Key) iter.Seq[*session.Event] { return slices.Values(logs[key]) },
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "sessions") {
			key := session.Key{
				App:  fmt.Sprint("app", i%2),
				User: fmt.Sprint("user", i%3),
				ID:   fmt.Sprint(i),
			}
			store.keys = append(store.keys, key)
			for range rapid.IntRange(0, 12).Draw(t, "events") {
				logs[key] = append(logs[key], anyEvent(t))
			}
		}
		o := stats.Options{Prices: table()}
		if rapid.Bool().Draw(t, "since") {
			o.Since = at("2026-03-02T00:00:00Z")
		}
		if rapid.Bool().Draw(t, "until") {
			o.Until = at("2026-03-03T12:00:00Z")
		}
		all, err := stats.Of(t.Context(), store, store.list, o)
		require.NoError(t, err)
		for _, by := range stats.Bys() {
			o.By = by
			r, err := stats.Of(t.Context(), store, store.list, o)
			require.NoError(t, err)
			require.InDelta(t, all.Total.Cost, r.Total.Cost, 1e-6*(1+all.Total.Cost))
			r.Total.Cost = all.Total.Cost
			require.Equal(t, all.Total, r.Total, by)
			sum := stats.Sums{}
			for _, g := range r.Groups {
				sum = plus(sum, g.Sums)
			}
			want := plus(stats.Sums{}, all.Total)
			if by == stats.Tool {
				want = stats.Sums{Calls: want.Calls, CallTime: want.CallTime}
			}
			require.InDelta(t, want.Cost, sum.Cost, 1e-6*(1+want.Cost))
			sum.Cost = want.Cost
			require.Equal(t, want, sum, by)
			c := sum.Calls
			require.Equal(t, c.Made,
				c.OK+c.Failed+c.Denied+c.Declined+c.Interrupted+c.Waiting+c.Open)
		}
	})
}

// plus adds sums up. Of spreads it adds up how many values there were, and takes the greatest.
func plus(a, b stats.Sums) stats.Sums {
	a.Runs += b.Runs
	a.Cost += b.Cost
	a.Unpriced += b.Unpriced
	a.Denials += b.Denials
	a.Compactions += b.Compactions
	a.Saved += b.Saved
	a.Tokens.Prompt += b.Tokens.Prompt
	a.Tokens.Cached += b.Tokens.Cached
	a.Tokens.Output += b.Tokens.Output
	a.Tokens.Reasoning += b.Tokens.Reasoning
	a.Calls.Made += b.Calls.Made
	a.Calls.OK += b.Calls.OK
	a.Calls.Failed += b.Calls.Failed
	a.Calls.Denied += b.Calls.Denied
	a.Calls.Declined += b.Calls.Declined
	a.Calls.Interrupted += b.Calls.Interrupted
	a.Calls.Waiting += b.Calls.Waiting
	a.Calls.Open += b.Calls.Open
	a.RunTime = stats.Spread[time.Duration]{
		Count: a.RunTime.Count + b.RunTime.Count,
		Max:   max(a.RunTime.Max, b.RunTime.Max),
	}
	a.RunTokens = stats.Spread[int64]{
		Count: a.RunTokens.Count + b.RunTokens.Count,
		Max:   max(a.RunTokens.Max, b.RunTokens.Max),
	}
	a.CallTime = stats.Spread[time.Duration]{
		Count: a.CallTime.Count + b.CallTime.Count,
		Max:   max(a.CallTime.Max, b.CallTime.Max),
	}
	return a
}

// Percentiles of many values are off by 0.2 % at most, and those of small ones not at all.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int32Range(0, 1<<rapid.IntRange(1, 30).Draw(t, "bits")), 1, 60).
			Draw(t, "values")
		store := made{
			keys: []session.Key{{ID: "s"}},
			log: func(session.Key) iter.Seq[*session.Event] {
				return func(yield func(*session.Event) bool) {
					for i, v := range values {
						e := &session.Event{
							InvocationID: fmt.Sprint(i),
							UsageMetadata: &genai.GenerateContentResponseUsageMetadata{
								PromptTokenCount: v,
							},
						}
						if !yield(e) {
							return
						}
					}
				}
			},
		}
		r, err := stats.Of(t.Context(), store, store.list, stats.Options{})
		require.NoError(t, err)
		slices.Sort(values)
		exact := func(percent int) int64 { return int64(values[(len(values)*percent+99)/100-1]) }
		for percent, got := range map[int]int64{50: r.Total.RunTokens.P50, 95: r.Total.RunTokens.P95} {
			want := exact(percent)
			require.InDelta(t, want, got, float64(want)/512, "%d %% of %v", percent, values)
			if want < 512 {
				require.Equal(t, want, got)
			}
		}
		require.Equal(t, exact(100), r.Total.RunTokens.Max)
	})
}

// A year of sessions takes no more memory than a month of them.
func TestAYearOfSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 10,000 sessions")
	}
	const turns = 20
	start := at("2025-01-01T00:00:00Z")
	var held []uint64
	store := made{}
	for i := range 10_000 {
		store.keys = append(store.keys,
			session.Key{App: "a", User: fmt.Sprint("u", i%50), ID: fmt.Sprint(i)})
	}
	read := 0
	store.log = func(key session.Key) iter.Seq[*session.Event] {
		if read++; read%5000 == 1000 {
			runtime.GC()
			runtime.GC() // what a pool keeps is gone after two
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			held = append(held, m.HeapAlloc)
		}
		n := read
		return func(yield func(*session.Event) bool) {
			for i := range turns {
				id := fmt.Sprintf("%d-%d", n, i)
				when := start.Add(time.Duration(n)*50*time.Minute + time.Duration(i)*time.Second)
				call := &genai.FunctionCall{ID: id, Name: "find"}
				for _, e := range []*session.Event{
					{Author: "user"},
					{Author: "desk", ModelVersion: "gpt-5", UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: int32(n*7 + i), CandidatesTokenCount: 3},
						Content: &genai.Content{Parts: []*genai.Part{{FunctionCall: call}}}},
					session.Respond(call, map[string]any{"found": 1}),
				} {
					e.InvocationID = id
					e.Timestamp = when
					if !yield(e) {
						return
					}
				}
			}
		}
	}
	r, err := stats.Of(t.Context(), store, store.list, stats.Options{By: stats.Day})
	require.NoError(t, err)
	require.EqualValues(t, 10_000*turns, r.Total.Runs)
	require.EqualValues(t, 10_000*turns, r.Total.Calls.OK)
	require.Len(t, r.Groups, 348)
	require.Len(t, held, 2)
	require.Less(t, held[1], held[0]+8<<20, "5,000 sessions later")
}
