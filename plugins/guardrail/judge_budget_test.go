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
		"judges: {"+budget+"}\nrules:\n  - {id: a, stages: [input], action: flag, judge: {model: judge, question: q, timeout: 1m, on_error: "+onError+"}}",
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
		"tokens: 5":          "judges: needs per:",
		"per: 1h":            "write tokens:, usd: or both",
		"tokens: 0, per: 1h": "tokens is 0; it must be more than 0",
		"usd: -1, per: 1h":   "usd is -1; it must be more than 0",
	} {
		_, err := policy.Parse("p.yaml", []byte(
			"judges: {"+budget+"}\nrules: [{id: a, stages: [input], action: flag, judge: {model: m, question: q, timeout: 1m, on_error: allow}}]",
		))
		require.ErrorContains(t, err, want)
	}
}
