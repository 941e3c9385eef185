package stats_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/stats"
)

// golden is a store of two users on two days. The prices of the test are 10 for a token of a prompt, 1 for a cached one
// and 100 for one of an answer, of the model "big"; nothing else has a price.
//
// Session s1 of ada: run i1 calls two tools and compacts, run i2 is denied, run i3 (on the next day) is rewound.
// Session s2 of bob: run j1 asks a human about a call, j2 leaves a call open; an event without invocation and time.
const golden = `{"session":{"appName":"desk","userId":"ada","id":"s1"}}
{"id":"1","invocationId":"i1","author":"user","timestamp":"2026-03-01T22:00:00Z","content":{"role":"user","parts":[{"text":"hi"}]}}
{"id":"2","invocationId":"i1","author":"desk","timestamp":"2026-03-01T22:00:02Z","modelVersion":"big","usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":40,"candidatesTokenCount":5,"thoughtsTokenCount":2},"content":{"role":"model","parts":[{"functionCall":{"id":"a","name":"find","args":{}}},{"functionCall":{"id":"b","name":"pay","args":{}}}]}}
{"id":"3","invocationId":"i1","author":"desk","timestamp":"2026-03-01T22:00:02.25Z","content":{"role":"user","parts":[{"functionResponse":{"id":"a","name":"find","response":{"found":1}}}]}}
{"id":"4","invocationId":"i1","author":"desk","timestamp":"2026-03-01T22:00:03Z","content":{"role":"user","parts":[{"functionResponse":{"id":"b","name":"pay","response":{"error":"no money"}}}]}}
{"id":"5","invocationId":"i1","author":"desk","timestamp":"2026-03-01T22:00:04Z","modelVersion":"big","usageMetadata":{"promptTokenCount":120,"candidatesTokenCount":3},"content":{"role":"model","parts":[{"text":"done"}]}}
{"id":"6","invocationId":"i1","author":"plugin/compaction","timestamp":"2026-03-01T22:01:00Z","modelVersion":"small","usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":10},"customMetadata":{"compaction":{"before":300,"after":80}},"actions":{"compaction":{"through":5,"content":{"parts":[{"text":"a summary"}]}}}}
{"id":"7","invocationId":"i2","author":"user","timestamp":"2026-03-01T23:00:00Z","content":{"role":"user","parts":[{"text":"secret"}]}}
{"id":"8","invocationId":"i2","author":"plugin/guardrail","timestamp":"2026-03-01T23:00:00.5Z","errorCode":"DENIED","errorMessage":"no"}
{"id":"9","invocationId":"i3","author":"user","timestamp":"2026-03-02T08:00:00Z","content":{"role":"user","parts":[{"text":"again"}]}}
{"id":"10","invocationId":"i3","author":"desk","timestamp":"2026-03-02T08:00:01Z","modelVersion":"big","usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":1},"content":{"role":"model","parts":[{"functionCall":{"id":"a","name":"find","args":{}}}]}}
{"id":"11","invocationId":"i3","author":"plugin/guardrail","timestamp":"2026-03-02T08:00:03Z","errorCode":"DENIED","content":{"role":"user","parts":[{"functionResponse":{"id":"a","name":"find","response":{"error":"denied"}}}]}}
{"id":"12","invocationId":"i4","author":"plugin/rewind","timestamp":"2026-03-02T08:01:00Z","actions":{"rewind":{"to":8}}}
{"session":{"appName":"desk","userId":"bob","id":"s2"}}
{"id":"1","invocationId":"j1","author":"user","timestamp":"2026-03-02T09:00:00Z","content":{"role":"user","parts":[{"text":"pay"}]}}
{"id":"2","invocationId":"j1","author":"clerk","timestamp":"2026-03-02T09:00:01Z","modelVersion":"small","usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1},"content":{"role":"model","parts":[{"functionCall":{"id":"p","name":"pay","args":{}}}]},"actions":{"requestedToolConfirmations":{"p":{"hint":"may it?"}}},"longRunningToolIds":["p"]}
{"id":"3","invocationId":"j2","author":"user","timestamp":"2026-03-02T10:00:00Z","actions":{"requestedToolConfirmations":{"p":{"confirmed":false}}}}
{"id":"4","invocationId":"j2","author":"clerk","timestamp":"2026-03-02T10:00:01Z","content":{"role":"user","parts":[{"functionResponse":{"id":"p","name":"pay","response":{"error":"declined","declined":true}}}]}}
{"id":"5","invocationId":"j2","author":"clerk","timestamp":"2026-03-02T10:00:02Z","usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2},"content":{"role":"model","parts":[{"functionCall":{"name":"find","args":{}}}]}}
{"id":"6","author":"clerk","timestamp":"2026-03-02T10:30:00Z","content":{"role":"model","parts":[{"text":"bye"}]}}
`

// table has the prices of the test.
func table() *prices.Table {
	return &prices.Table{Currency: "USD", Models: map[string]prices.Price{
		"big": {Rates: prices.Rates{Input: 10e6, Cached: 1e6, Output: 100e6}},
	}}
}

// kept returns a store with the sessions of a file.
func kept(t *testing.T, file string) session.Service {
	svc := memory.New()
	t.Cleanup(func() { require.NoError(t, svc.Close()) })
	for rec, err := range session.ReadRecordings("test", strings.NewReader(file)) {
		require.NoError(t, err)
		require.NoError(t, session.Import(t.Context(), svc, rec))
	}
	return svc
}

func sum(t *testing.T, svc session.Service, o stats.Options) *stats.Report {
	o.Prices = table()
	r, err := stats.Of(t.Context(), svc, svc.List(t.Context(), "", ""), o)
	require.NoError(t, err)
	return r
}

// groups returns one thing of each group, by name.
func groups[T any](r *stats.Report, of func(stats.Sums) T) map[string]T {
	m := map[string]T{}
	for _, g := range r.Groups {
		m[g.Name] = of(g.Sums)
	}
	return m
}

func at(text string) time.Time {
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return when
}

func TestTheWholeStore(t *testing.T) {
	svc := kept(t, golden)
	r := sum(t, svc, stats.Options{})
	require.Equal(t, &stats.Report{
		Sessions: 2,
		Events:   18,
		First:    at("2026-03-01T22:00:00Z"),
		Last:     at("2026-03-02T10:30:00Z"),
		Currency: "USD",
		Unpriced: []stats.Unpriced{
			{Model: "", Tokens: 6},
			{Model: "small", Tokens: 60 + 8},
		},
		Total: stats.Sums{
			Runs: 6, // i1, i2, i3, j1, j2, and i4, which is the rewind
			// i1 4 s (its summary came later), i2 0.5 s, i3 3 s, j2 2 s. i4 has one event, and j1 has waited.
			RunTime: stats.Spread[time.Duration]{
				Count: 4,
				P50:   2_000_896 * time.Microsecond, // 2 s: its bin is 4096 µs wide and begins at 1,998,848
				P95:   4 * time.Second,
				Max:   4 * time.Second,
			},
			// i1 107+123+60, i2 0, i3 11, i4 0, j1 8, j2 6: in order 0 0 6 8 11 290.
			RunTokens: stats.Spread[int64]{Count: 6, P50: 6, P95: 290, Max: 290},
			Tokens:    stats.Tokens{Prompt: 291, Cached: 40, Output: 22, Reasoning: 2},
			// 60*10+40*1+7*100, 120*10+3*100, 10*10+1*100
			Cost:     1340 + 1500 + 200,
			Unpriced: 74,
			Calls:    stats.Calls{Made: 5, OK: 1, Failed: 1, Denied: 1, Declined: 1, Open: 1},
			// find 0.25 s, whose bin is 512 µs wide and begins at 249,856; pay 1 s, the greatest.
			CallTime: stats.Spread[time.Duration]{
				Count: 2,
				P50:   250_112 * time.Microsecond,
				P95:   time.Second,
				Max:   time.Second,
			},
			Denials:     2,
			Compactions: 1,
			Saved:       220,
		},
	}, r)
}

func TestTheGroups(t *testing.T) {
	svc := kept(t, golden)
	runs := func(s stats.Sums) int64 { return s.Runs }
	tokens := func(s stats.Sums) int64 { return s.Tokens.Sum() }
	cost := func(s stats.Sums) float64 { return s.Cost }
	calls := func(s stats.Sums) stats.Calls { return s.Calls }
	denials := func(s stats.Sums) int64 { return s.Denials }

	r := sum(t, svc, stats.Options{By: stats.Day})
	require.Equal(t, []string{"2026-03-01", "2026-03-02"},
		[]string{r.Groups[0].Name, r.Groups[1].Name})
	require.Equal(t, map[string]int64{"2026-03-01": 2, "2026-03-02": 4}, groups(r, runs))
	require.Equal(t, map[string]float64{"2026-03-01": 2840, "2026-03-02": 200}, groups(r, cost))
	require.Equal(t, map[string]int64{"2026-03-01": 1, "2026-03-02": 1}, groups(r, denials))

	// East of Greenwich the evening is the next day.
	r = sum(t, svc, stats.Options{By: stats.Day, Zone: time.FixedZone("east", 2*3600)})
	require.Equal(t, map[string]int64{"2026-03-02": 6}, groups(r, runs))

	r = sum(t, svc, stats.Options{By: stats.Model})
	require.Equal(t, map[string]int64{"big": 241, "small": 68, "": 6}, groups(r, tokens))
	require.Equal(t, map[string]int64{"big": 2, "small": 1, "": 3}, groups(r, runs))
	require.Equal(t, "big", r.Groups[0].Name, "the most expensive comes first")

	r = sum(t, svc, stats.Options{By: stats.Agent})
	require.Equal(
		t,
		map[string]int64{
			"desk":              241,
			"clerk":             14,
			"plugin/compaction": 60,
			"plugin/guardrail":  0,
			"plugin/rewind":     0,
			"user":              0,
		},
		groups(r, tokens),
	)
	require.Equal(
		t,
		map[string]int64{
			"desk":              2,
			"clerk":             2,
			"plugin/compaction": 0,
			"plugin/guardrail":  0,
			"plugin/rewind":     1,
			"user":              1,
		},
		groups(r, runs),
	)
	require.Equal(t, stats.Calls{Made: 3, OK: 1, Failed: 1, Denied: 1}, groups(r, calls)["desk"])

	r = sum(t, svc, stats.Options{By: stats.User})
	require.Equal(t, map[string]int64{"desk/ada": 301, "desk/bob": 14}, groups(r, tokens))

	r = sum(t, svc, stats.Options{By: stats.Tool})
	require.Equal(t, map[string]stats.Calls{
		"find": {Made: 3, OK: 1, Denied: 1, Open: 1},
		"pay":  {Made: 2, Failed: 1, Declined: 1},
	}, groups(r, calls))
	require.Equal(t, map[string]int64{"find": 0, "pay": 0}, groups(r, tokens),
		"tokens are of no tool")
	require.EqualValues(t, 315, r.Total.Tokens.Sum())
	require.EqualValues(t, 6, r.Total.Runs)
}

// What counts is what happened in the time that is asked for.
func TestATimeSpan(t *testing.T) {
	svc := kept(t, golden)

	// A call that was made in the time counts with what became of it later.
	r := sum(t, svc, stats.Options{Until: at("2026-03-01T22:00:02.1Z")})
	require.EqualValues(t, 2, r.Events)
	require.EqualValues(t, 1, r.Total.Runs)
	require.EqualValues(t, 290, r.Total.RunTokens.Max, "the whole run")
	require.EqualValues(t, 107, r.Total.Tokens.Sum(), "only what was used until then")
	require.Equal(t, stats.Calls{Made: 2, OK: 1, Failed: 1}, r.Total.Calls)

	r = sum(t, svc,
		stats.Options{Since: at("2026-03-02T00:00:00Z"), Until: at("2026-03-02T09:00:00Z")})
	require.EqualValues(t, 1, r.Sessions)
	require.EqualValues(t, 2, r.Total.Runs)
	require.Equal(t, stats.Calls{Made: 1, Denied: 1}, r.Total.Calls)

	// Where nothing is selected, all is zero.
	r = sum(t, svc, stats.Options{Since: at("2027-01-01T00:00:00Z"), By: stats.Day})
	require.Equal(t, &stats.Report{Currency: "USD"}, r)
}

func TestWhatCannotBeGrouped(t *testing.T) {
	svc := kept(t, golden)
	_, err := stats.Of(t.Context(), svc, svc.List(t.Context(), "", ""), stats.Options{By: "week"})
	require.ErrorContains(t, err, `nothing is grouped by "week"`)
}

// A session that is deleted while the store is read ends no report.
func TestADeletedSession(t *testing.T) {
	svc := kept(t, golden)
	var sessions iter.Seq2[*session.Session, error] = func(yield func(*session.Session, error) bool) {
		for s, err := range svc.List(context.Background(), "", "") {
			if err == nil && s.ID == "s1" {
				err = svc.Delete(context.Background(), s.Key)
			}
			if !yield(s, err) {
				return
			}
		}
	}
	r, err := stats.Of(t.Context(), svc, sessions, stats.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Sessions)
}
