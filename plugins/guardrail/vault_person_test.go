package guardrail_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// Who decides about a call is told what its tokens stand for, as far as that is needed: by the
// question of a rule, and by that of a tool. The call keeps its tokens.
func TestAPersonSeesWhatTokensStandFor(t *testing.T) {
	card := sealed(t, vaultKey, "CREDIT_CARD", "4111 1111 1111 1111")
	other := sealed(t, []byte("another key of 16 bytes"), "CREDIT_CARD", "4111 1111 1111 1111")
	for name, c := range map[string]struct {
		args map[string]any
		want string // behind the question
	}{
		"a value": {
			map[string]any{"card": card},
			" Hidden values: card: [CREDIT_CARD ···· 1111].",
		},
		"a short one": {
			map[string]any{"pin": sealed(t, vaultKey, "PIN", "1234567")},
			" Hidden values: pin: [PIN].",
		},
		"of eight": {
			map[string]any{"pin": sealed(t, vaultKey, "PIN", "12345678")},
			" Hidden values: pin: [PIN ···· 5678].",
		},
		"what steers": {
			map[string]any{"x": sealed(t, vaultKey, "X", "12345678\x1b[2J")},
			" Hidden values: x: [X ···· ·[2J].",
		},
		"two, one twice": {
			map[string]any{"a": []any{card, "and " + card}, "b": sealed(t, vaultKey, "PIN", "1")},
			" Hidden values: a: [CREDIT_CARD ···· 1111], b: [PIN].",
		},
		"in JSON": {
			map[string]any{"body": `{"card":"` + card + `"}`},
			" Hidden values: body: [CREDIT_CARD ···· 1111].",
		},
		"a key": {map[string]any{card: 1.0}, " Hidden values: [CREDIT_CARD ···· 1111]."},
		"of another key": {
			map[string]any{"card": other},
			" Hidden values: card: [CREDIT_CARD cannot be read].",
		},
		"forged": {
			map[string]any{"card": strings.Replace(card, card[20:22], "11", 1)},
			" Hidden values: card: [CREDIT_CARD cannot be read].",
		},
		"another type": {
			map[string]any{"card": strings.Replace(card, "CREDIT_CARD", "PIN", 1)},
			" Hidden values: card: [PIN cannot be read].",
		},
		"what is no token": {map[string]any{"bug": "[BUG#12345] [CREDIT_CARD]"}, ""},
		"nothing":          {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			// a rule asks, or the tool does
			for want, rules := range map[string]string{
				"The policy's rule a asks about this call of pay.": `rules: [{id: a, stages: [tool_args], scope: {tool: pay}, action: ask}]`,
				"Really?": `rules: [{id: a, stages: [input], detect: {words: [heron]}, action: flag}]`,
			} {
				pay := &tool.Tool{
					Declaration: &genai.FunctionDeclaration{Name: "pay"},
					Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
						return nil, &tool.Ask{Hint: "Really?"}
					},
				}
				bot, err := llm.New(llm.Config{
					Name:  "bot",
					Model: &answers{list: []any{call("pay", c.args)}},
					Tools: []*tool.Tool{pay},
				})
				require.NoError(t, err)
				config := with(t, rules)
				config.Key = vaultKey
				s := &scene{t: t, sessions: memory.New()}
				s.runner, err = runner.New(runner.Options{
					Agent:    bot,
					Sessions: s.sessions,
					Plugins:  []*plugin.Plugin{quiet(t, config)},
				})
				require.NoError(t, err)
				lines := strings.Join(s.run("pay"), "\n")
				require.NoError(t, s.runner.Close(ctx))
				require.Contains(t, lines, "[c-pay: "+want+c.want+"]")
				require.NotContains(t, s.stored(), "4111 1111")
				var live []*session.Event
				for e, err := range s.sessions.Read(ctx, key, session.Selection{Live: true}) {
					require.NoError(t, err)
					live = append(live, e)
				}
				waiting := session.Calls(live)
				require.Len(t, waiting, 1)
				require.True(t, waiting[0].Waits())
				require.Equal(t, inJSON(c.args), inJSON(waiting[0].Args), "the tokens stay")
			}
		})
	}
}

// Without a key there is nothing that could be read.
func TestWithoutAKeyNothingIsSaidOfTokens(t *testing.T) {
	s := stage(t, with(t, `rules: [{id: a, stages: [tool_args], action: ask}]`),
		call("fetch", map[string]any{"answer": sealed(t, vaultKey, "PIN", "1234")}))
	require.Contains(t, strings.Join(s.run("hi"), "\n"),
		"[c-fetch: The policy's rule a asks about this call of fetch.]")
}

// Behind a question of several lines, whose last one may be what a server says of its tool, hidden
// values stand on a line of their own.
func TestHiddenValuesStandApartFromALongQuestion(t *testing.T) {
	config := with(t, `rules: [{id: a, stages: [tool_args], action: ask, message: "One.\nTwo."}]`)
	config.Key = vaultKey
	s := stage(t, config,
		call("fetch", map[string]any{"answer": sealed(t, vaultKey, "PIN", "1234")}))
	require.Contains(t, strings.Join(s.run("hi"), "\n"),
		"[c-fetch: One.\nTwo.\nHidden values: answer: [PIN].]")
}
