package prices_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/prices"
)

type usage = genai.GenerateContentResponseUsageMetadata

// A million tokens of each kind cost what the table says, and the table says when and where that was so.
func TestTheTable(t *testing.T) {
	table := prices.Default()
	require.Equal(t, "USD", table.Currency)
	_, err := time.Parse(time.DateOnly, table.Date)
	require.NoError(t, err)
	require.Regexp(t, `^https://`, table.Source)
	require.NotEmpty(t, table.Models)
	for model, price := range table.Models {
		require.Positive(t, price.Input, model)
		require.Greater(t, price.Output, price.Input,
			"%s: answers cost more than prompts, everywhere", model)
		require.Less(t, price.Cached, price.Input, model)
	}
	cost, ok := table.Cost("gemini-2.5-flash", &usage{
		PromptTokenCount:        1e6,
		CachedContentTokenCount: 5e5,
		CandidatesTokenCount:    1e5,
		ThoughtsTokenCount:      1e5,
	})
	require.True(t, ok)
	require.InDelta(t, 0.15+0.015+0.5, cost, 1e-9)
}

// A model that the table does not have costs nothing that is known, however like its name is to another.
func TestAnUnknownModel(t *testing.T) {
	for _, model := range []string{"", "gemini-2.5", "gemini-2.5-flash-002", "GPT-5", "gpt-5-2099-01-01", "models/gpt-5"} {
		_, ok := prices.Default().Cost(model, &usage{PromptTokenCount: 1})
		require.False(t, ok, model)
	}
	var none *prices.Table
	_, ok := none.Cost("gpt-5", &usage{})
	require.False(t, ok)
}

func TestCost(t *testing.T) {
	long := prices.Price{
		Rates: prices.Rates{Input: 1, Output: 10},
		Long:  prices.Long{Above: 1000, Rates: prices.Rates{Input: 2, Cached: 1, Output: 20}},
	}
	for name, c := range map[string]struct {
		usage *usage
		want  float64 // millionths
	}{
		"none":                      {nil, 0},
		"cached as input":           {&usage{PromptTokenCount: 100, CachedContentTokenCount: 40}, 100},
		"what tools put in":         {&usage{PromptTokenCount: 100, ToolUsePromptTokenCount: 20}, 120},
		"thoughts are output":       {&usage{CandidatesTokenCount: 3, ThoughtsTokenCount: 4}, 70},
		"up to the long prompt":     {&usage{PromptTokenCount: 1000, CandidatesTokenCount: 1}, 1010},
		"a long prompt":             {&usage{PromptTokenCount: 1001, CachedContentTokenCount: 1, CandidatesTokenCount: 1}, 2021},
		"more cached than there is": {&usage{PromptTokenCount: 10, CachedContentTokenCount: 99}, 10},
		"below zero":                {&usage{PromptTokenCount: -5, CandidatesTokenCount: -5}, 0},
	} {
		require.InDelta(t, c.want/1e6, long.Cost(c.usage), 1e-12, name)
	}
}

// A user's own prices come before ours, and stand alone in another currency.
func TestOwnPrices(t *testing.T) {
	own, err := prices.Parse("own.yaml",
		[]byte("models:\n  gpt-5: {input: 7, output: 8}\n  mine: {input: 1}\n"))
	require.NoError(t, err)
	both := prices.Default().With(own)
	require.Equal(t, 7.0, both.Models["gpt-5"].Input)
	require.Equal(t, 1.0, both.Models["mine"].Input)
	require.Equal(t, 0.3, both.Models["gemini-2.5-flash"].Input)
	require.Equal(t, 1.25, prices.Default().Models["gpt-5"].Input, "ours stay as they are")
	require.Equal(t, prices.Default(), prices.Default().With(nil))

	euros, err := prices.Parse("own.yaml", []byte("currency: EUR\nmodels:\n  mine: {input: 1}\n"))
	require.NoError(t, err)
	both = prices.Default().With(euros)
	require.Equal(t, "EUR", both.Currency)
	require.Len(t, both.Models, 1)
}

func TestAWrongTableSaysWhere(t *testing.T) {
	for text, says := range map[string]string{
		"models:\n  m: {input: -1}":                    "own.yaml:2:6: the price of input is -1",
		"models:\n  m: {input: .inf}":                  "own.yaml:2:14: input wants a number",
		"models:\n  m: {long: {input: 1}}":             "long.above is 0",
		"models:\n  m: {inptu: 1}":                     `unknown key "inptu"; did you mean "input"?`,
		"models: [m]":                                  "models wants keys and values",
		"models:\n  m: {long: {above: 1, cached: -1}}": "the price of long.cached is -1",
	} {
		_, err := prices.Parse("own.yaml", []byte(text))
		require.ErrorContains(t, err, says, text)
	}
}
