package guardrail_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/prices"
)

func uses(prompt, answer int32) *genai.GenerateContentResponseUsageMetadata {
	return &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount:     prompt,
		CandidatesTokenCount: answer,
		TotalTokenCount:      prompt + answer,
	}
}

// budgeted is a policy with a budget, whose model is asked about inputs.
func budgeted(t testing.TB, budget, onError string) *policy.Policy {
	return parse(
		t,
		"judges: {user_share: 1, "+budget+"}\nrules:\n  - {id: a, stages: [input], action: flag, judge: {model: judge, question: q, timeout: 1m, on_error: "+onError+"}}",
	)
}

// Until the budget is spent the model is asked, then on_error decides, and with the next period it
// is asked again.
func TestJudgesBudget(t *testing.T) {
	price := func(model string) (prices.Price, bool) {
		rates := prices.Rates{Input: 1000, Output: 2000}
		if model == "panel-1" { // what the model calls itself; the configuration has another price for it
			rates.Input *= 100
		}
		return prices.Price{Rates: rates}, model == "panel-1" || model == "judge"
	}
	for name, c := range map[string]struct {
		budget string
		usage  *genai.GenerateContentResponseUsageMetadata
		asked  int
		says   string
	}{
		"tokens": {
			"tokens: 10000, per: 1h",
			uses(2000, 500),
			4,
			"10000 tokens in 1h0m0s",
		},
		"dollars": {"usd: 10, per: 1h", uses(2000, 500), 4, "10 USD in 1h0m0s"},
		"what is less": {
			"usd: 1000, tokens: 10000, per: 1h",
			uses(4000, 0),
			3,
			"10000 tokens in 1h0m0s",
		},
		"more than expected": {"tokens: 5000, per: 1h", uses(90000, 0), 1, "5000 tokens in 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &panel{answers: map[string]string{"q": yes}, usage: c.usage}
			now := time.Now()
			s := stage(
				t,
				guardrail.Config{
					Policy: budgeted(t, c.budget, "block"),
					Models: only(j.model()),
					Price:  price,
					Now:    func() time.Time { return now },
				},
				"hi",
				"hi",
				"hi",
				"hi",
				"hi",
				"hi",
				"hi",
				"hi",
			)
			for i := range 6 {
				now = now.Add(time.Minute)
				lines := s.run(fmt.Sprint("text ", i))
				require.Equal(t, i >= c.asked, strings.HasSuffix(lines[0], "[DENIED]"), "%d: %v", i,
					lines)
			}
			require.Len(t, j.asked, c.asked)
			require.Contains(t, s.log.String(),
				"its model was not asked: the policy's judges may use "+c.says)
			require.Contains(t, s.log.String(), `"type":"OVER_BUDGET"`)
			s.run("text 0")
			require.Len(t, j.asked, c.asked, "what is known costs nothing")
			now = now.Add(time.Hour)
			s.run("a new text")
			require.Len(t, j.asked, c.asked+1, "the next hour")
		})
	}
}

// Where a model reports nothing, what it uses is estimated. Questions at the same time do not spend
// the same rest of a budget: as many are asked as one after another.
func TestJudgesBudgetOfManyAtOnce(t *testing.T) {
	ask := func(atOnce bool) int {
		j := &panel{answers: map[string]string{"q": no}, wait: 20 * time.Millisecond}
		p := plug(t, guardrail.Config{
			Policy: budgeted(t, "tokens: 1500, per: 1h", "allow"),
			Models: only(j.model()),
			Log:    slog.New(slog.DiscardHandler),
		})
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				if _, err := p.OnEvent(ctx, invocation(), input(fmt.Sprintf("text %2d", i))); err != nil {
					t.Error(err)
				}
			})
			if !atOnce {
				all.Wait()
			}
		}
		all.Wait()
		out, err := p.OnEvent(ctx, invocation(), input("one more"))
		require.NoError(t, err)
		require.Contains(t, out.Unchecked,
			"rule a: its model was not asked: the policy's judges may use 1500 tokens")
		return len(j.asked)
	}
	inTurn := ask(false)
	require.Greater(t, inTurn, 1)
	require.Less(t, inTurn, 12)
	require.Equal(t, inTurn, ask(true))
}

// One user uses up a share of what judges may use, a quarter unless the policy says otherwise, and the others have
// theirs.
func TestJudgesBudgetOfEachUser(t *testing.T) {
	for share, want := range map[string]int{"": 4, "user_share: 0.5, ": 8} {
		j := &panel{answers: map[string]string{"q": no}, usage: uses(900, 100)}
		p := plug(t, guardrail.Config{
			Policy: parse(t, "judges: {"+share+"tokens: 16000, per: 1h}\nrules:\n  - {id: a, stages: [input], action: flag, judge: {model: judge, question: q, timeout: 1m, on_error: block}}"),
			Models: only(j.model()),
			Log:    slog.New(slog.DiscardHandler),
		})
		ask := func(user, text string) plugin.Outcome {
			inv := invocation()
			inv.Key.User = user
			out, err := p.OnEvent(ctx, inv, input(user+text))
			require.NoError(t, err)
			return out
		}
		for i := range 12 {
			require.Equal(t, i >= want, ask("mallory", fmt.Sprint(" says ", i)).Withhold, "text %d", i)
		}
		require.Len(t, j.asked, want)
		require.False(t, ask("ann", " says hello").Withhold)
		require.Len(t, j.asked, want+1)
	}
}

// A judge is sent a long text in parts, so that its end is judged, too, and no request is larger than a model takes.
func TestAJudgeIsSentALongTextInParts(t *testing.T) {
	judged := func(text string, said ...string) (*panel, plugin.Outcome) {
		j := &panel{answers: map[string]string{"q": no}, usage: uses(1000, 0), turns: said}
		p := plug(t, guardrail.Config{
			Policy: parse(t, "rules:\n  - {id: a, stages: [input], action: block, judge: {model: judge, question: q, timeout: 1m, on_error: allow}}"),
			Models: only(j.model()),
			Log:    slog.New(slog.DiscardHandler),
		})
		out, err := p.OnEvent(ctx, invocation(), input(text))
		require.NoError(t, err)
		return j, out
	}
	long := strings.Repeat("Ä few words. ", 6000) + "the end of it"
	j, out := judged(long)
	require.False(t, out.Withhold)
	require.Len(t, j.saw, 3)
	require.Contains(t, j.saw[2], "the end of it")
	for i, saw := range j.saw {
		require.Contains(t, saw, fmt.Sprintf("Part %d of the 3 of the text", i+1))
		require.Less(t, len(saw), 35<<10)
	}
	_, out = judged(long, no, no, yes)
	require.True(t, out.Withhold, "the last part counts")
	j, out = judged(long, yes)
	require.True(t, out.Withhold)
	require.Len(t, j.saw, 1, "no more is asked than it takes")
	_, out = judged(long, no, "what?", no)
	require.NotEmpty(t, out.Unchecked, "a part without an answer is not judged")
	_, out = judged(long, no, "what?", yes)
	require.True(t, out.Withhold)
	j, _ = judged(strings.Repeat("\x80", 100<<10)) // no character begins in it
	require.Len(t, j.saw, 4)
	j, _ = judged("short")
	require.Len(t, j.saw, 1)
	require.NotContains(t, j.saw[0], "Part")
}

// A budget in dollars needs prices, and the error says how to write them.
func TestJudgesBudgetNeedsPrices(t *testing.T) {
	j := &panel{}
	pol := budgeted(t, "usd: 5, per: 1h", "block")
	_, err := guardrail.New(guardrail.Config{Policy: pol, Models: only(j.model())})
	require.EqualError(
		t,
		err,
		`guardrail: p.yaml:1:9: usd: nobody knows what the model judge costs in USD; write its price for a million tokens into the configuration, prices: {models: {"judge": {input: 1, output: 2}}}, or tokens: in place of usd`,
	)
	_, err = policy.Parse("p.yaml", []byte(
		"judges: {tokens: 5, per: 1h}\nrules: [{id: a, detect: {words: [x]}, action: flag}]"))
	require.EqualError(
		t,
		err,
		"guardrail: p.yaml:1:9: judges: bounds what models use, and no rule asks a model; leave it out",
	)
	for budget, want := range map[string]string{
		"tokens: 5":                         "judges: needs per:",
		"per: 1h":                           "write tokens:, usd: or both",
		"tokens: 0, per: 1h":                "tokens is 0; it must be more than 0",
		"tokens: 5, per: 1h, user_share: 2": "user_share is 2; it must be above 0 and at most 1",
		"usd: -1, per: 1h":                  "usd is -1; it must be more than 0",
	} {
		_, err := policy.Parse("p.yaml", []byte(
			"judges: {"+budget+"}\nrules: [{id: a, stages: [input], action: flag, judge: {model: m, question: q, timeout: 1m, on_error: allow}}]",
		))
		require.ErrorContains(t, err, want)
	}
}
