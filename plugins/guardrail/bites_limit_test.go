package guardrail_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A limit that only flags, or is in shadow, counts on when it is used up; one that blocks does not.
func TestFlaggedRunsCount(t *testing.T) {
	for rest, want := range map[string]float64{"action: flag": 3, "action: block": 1, "action: block, mode: shadow": 3} {
		h := open(t, memory.New(), `rules: [{id: r, limit: {runs: 1, per: user}, `+rest+`}]`, hello(0))
		for range 3 {
			h.say("a")
		}
		require.Equal(t, want, total(h.counts("a")), rest)
	}
}

// A call that another rule denies is not said to be over a limit as well.
func TestDeniedCallsAreNotOverALimit(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: no, stages: [tool_args], scope: {tool: search}, action: block}, {id: few, limit: {tool_calls: 1, per: user}, action: block}]`))
	got, _ := offered(t, p, says("bot", &genai.Part{FunctionCall: call("mail", nil)}, &genai.Part{FunctionCall: call("search", nil)}))
	n, ok := guardrail.NoteOf(got)
	require.True(t, ok)
	require.Len(t, n.Records, 1)
	require.Equal(t, "no", n.Records[0].Rule)
}

// Numbers that count no more go from the state with what is counted next, 64 at a time; those that count stay.
func TestExpiredNumbersGo(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	c := with(t, `rules: [{id: r, limit: {runs: 100, per: user, every: 1h}, action: block}]`)
	c.Now = func() time.Time { return now }
	p := quiet(t, c)
	state := map[string]any{}
	key := func(until int64) string { return fmt.Sprintf("user:guardrail:limit:r:runs:user:1h0m0s:%d", until) }
	for i := range int64(100) {
		state[key(now.UnixMilli()-i)] = 1.0
	}
	state[key(now.UnixMilli()+1)] = 1.0
	taken := 0
	for _, want := range []int{64, 36, 0} {
		out, err := p.OnEvent(ctx, &session.Invocation{ID: session.NewID(), Key: session.Key{App: "app", User: "ann", ID: "s"}, State: state}, input("hi"))
		require.NoError(t, err)
		require.Len(t, out.Replace.Actions.StateDelta, want)
		for name, value := range out.Replace.Actions.StateDelta {
			require.Nil(t, value)
			delete(state, name)
			taken++
		}
	}
	require.Equal(t, 100, taken)
	require.Equal(t, map[string]any{key(now.UnixMilli() + 1): 1.0}, state)
}

// What a rule of this process blocks is blocked at once: the judges of the other texts are not waited for.
func TestLocalBlocksEndTheHearing(t *testing.T) {
	court := answered(t, hang)
	p := plug(t, guardrail.Config{Policy: parse(t, fmt.Sprintf(`
rules:
  - {id: word, stages: [output], detect: {words: [heron]}, action: block, message: No birds.}
  - {id: topic, stages: [tool_args], judge: {url: %s, timeout: 1s, on_error: block}, action: block}`, court.URL))})
	out, err := p.OnEvent(ctx, invocation(), says("bot", &genai.Part{Text: "a heron"}, &genai.Part{FunctionCall: call("fetch", map[string]any{"a": "x"})}))
	require.NoError(t, err)
	require.Equal(t, "No birds.", out.Emit[0].Text())
	n, ok := guardrail.NoteOf(out.Emit[0])
	require.True(t, ok)
	require.False(t, slices.ContainsFunc(n.Records, func(r guardrail.Record) bool { return r.Rule == "topic" }), "%v", n.Records)
}

// A text that is too long for the policy goes to no judge.
func TestJudgesSeeNoLongTexts(t *testing.T) {
	court := answered(t, func(w http.ResponseWriter, _ *http.Request, _ map[string]string) {
		_, _ = fmt.Fprint(w, `{"flagged": false}`)
	})
	p := plug(t, guardrail.Config{Policy: parse(t, fmt.Sprintf(`
limits: {max_bytes: 5, over_limit: flag}
rules:
  - {id: topic, stages: [input], judge: {url: %s, timeout: 1m, on_error: block}, action: block}`, court.URL))})
	for _, text := range []string{"12345", "123456"} {
		out, err := p.OnEvent(ctx, invocation(), input(text))
		require.NoError(t, err)
		require.False(t, out.Stop)
	}
	require.Equal(t, []string{"input: 12345"}, court.texts())
}
