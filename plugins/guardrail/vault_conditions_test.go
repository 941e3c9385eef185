package guardrail_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/file"
	"github.com/plughook/plughook/session"
)

var vaultKey = []byte("a key of sixteen bytes, and more")

// sealed returns the token that a vault with a key puts in the place of a value of a type.
func sealed(t require.TestingT, key []byte, kind, value string) string {
	p, err := policy.Parse("p.yaml",
		fmt.Appendf(nil, "rules: [{id: v, detect: {regexp: {%s: '(?s).+'}}, action: vault}]", kind))
	require.NoError(t, err)
	v := p.WithKey(key).Judge(policy.Input, policy.Scope{}, value)
	require.Regexp(t, `^\[`+kind+`#[A-Za-z]+\]$`, v.Text)
	return v.Text
}

// A condition is about what a token stands for, wherever it stands, and a token of another key is a
// text. Detectors judge the token.
func TestConditionsSeeWhatTokensStandFor(t *testing.T) {
	visa, other := sealed(t, vaultKey, "CARD", "4111 1111 1111 1111"), sealed(t, []byte("another key of 16 bytes"), "CARD", "4111 1111 1111 1111")
	card := map[string]any{"card": visa}
	for name, c := range map[string]struct {
		rule  string
		stage policy.Stage
		scope policy.Scope
		text  string
		want  policy.Action
	}{
		"an argument": {
			`when: 'tool.args.card startsWith "4"'`,
			policy.ToolArgs,
			policy.Scope{Args: card},
			"",
			"flag",
		},
		"another argument": {
			`when: 'tool.args.card startsWith "5"'`,
			policy.ToolArgs,
			policy.Scope{Args: card},
			"",
			"allow",
		},
		"of another key": {
			`when: 'tool.args.card startsWith "4"'`,
			policy.ToolArgs,
			policy.Scope{Args: map[string]any{"card": other}},
			"",
			"allow",
		},
		"in a list": {`when: 'any(tool.args.cards, # contains "1111")'`, policy.ToolArgs,
			policy.Scope{
				Args: map[string]any{"cards": []any{"x", "pay with " + visa}},
			}, "", "flag"},
		"in JSON": {`when: 'fromJSON(tool.args.body).card startsWith "4"'`, policy.ToolArgs,
			policy.Scope{Args: map[string]any{"body": inJSON(card)}}, "", "flag"},
		"a key is no value": {
			`when: 'any(keys(tool.args), # startsWith "4")'`,
			policy.ToolArgs,
			policy.Scope{Args: map[string]any{visa: 1}},
			"",
			"allow",
		},
		"a call that answers": {
			`when: 'tool.args.card startsWith "4"'`,
			policy.ToolResult,
			policy.Scope{Args: card},
			"paid",
			"flag",
		},
		"a text": {
			`when: 'text contains "4111 1111"'`,
			policy.Output,
			policy.Scope{},
			"paid with " + visa,
			"flag",
		},
		"the state": {
			`when: 'state.card startsWith "4"'`,
			policy.Input,
			policy.Scope{State: card},
			"hi",
			"flag",
		},
		"a file": {
			`when: 'any(files, .name startsWith "4")'`,
			policy.Input,
			policy.Scope{Files: []file.File{{Name: visa}}},
			"",
			"flag",
		},
		"all": {
			`when: '$env["tool"].args.card startsWith "4"'`,
			policy.ToolArgs,
			policy.Scope{Args: card},
			"",
			"flag",
		},
		"a detector": {
			`detect: {regexp: {N: '4111'}}`,
			policy.ToolArgs,
			policy.Scope{Args: card},
			visa,
			"allow",
		},
		"a length": {
			`detect: {length: {bytes: 30}}`,
			policy.ToolArgs,
			policy.Scope{Args: card},
			visa,
			"flag",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, "rules: [{id: r, action: flag, "+c.rule+"}]").WithKey(vaultKey)
			before := inJSON(c.scope)
			v := p.Judge(c.stage, c.scope, c.text)
			require.NoError(t, v.Err)
			require.Equal(t, c.want, v.Action)
			require.Equal(t, before, inJSON(c.scope), "the scope keeps the tokens")
		})
	}
}

// A value that contains itself ends no program.
func TestConditionsAboutWhatContainsItself(t *testing.T) {
	state := map[string]any{"n": 1.0}
	state["self"] = []any{state}
	v := parse(t, `rules: [{id: r, when: 'state.n == 1', action: flag}]`).WithKey(vaultKey).
		Judge(policy.Input, policy.Scope{State: state}, "hi")
	require.NoError(t, v.Err)
	require.Equal(t, policy.Flag, v.Action)
}

// A list of permissions decides about what a token stands for, too, and does not quote it.
func TestPermissionsSeeWhatTokensStandFor(t *testing.T) {
	c := with(
		t,
		`{command_tools: {send: {line: text}}, rules: [{id: s, stages: [tool_args], tools: {deny: ["reads(secrets/**)"], other: allow}}]}`,
	)
	c.Key = vaultKey
	for value, denied := range map[string]bool{"secrets/xq7canary": true, "docs/xq7canary": false} {
		s := stage(
			t,
			c,
			call("send", map[string]any{
				"to":   "a@b",
				"text": "cat '" + sealed(t, vaultKey, "FILE", value) + "'",
			}),
			"done",
		)
		lines := strings.Join(s.run("hi"), "\n")
		require.Equal(t, denied, strings.Contains(lines, "DENIED"), lines)
		require.NotContains(t, lines+s.stored()+s.log.String(), "xq7canary")
	}
}

// Whatever a condition makes of a hidden value, nothing that is written, sent or counted has the
// value.
func TestWhatConditionsSeeStaysInside(t *testing.T) {
	counted := &counts{}
	otel.SetMeterProvider(counted)
	t.Cleanup(func() { otel.SetMeterProvider(noop.NewMeterProvider()) })
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.StringMatching(`xq7canary[a-z]{4,20}`).Draw(rt, "value")
		condition := rapid.SampledFrom([]string{
			`tool.args.text contains "xq7"`, `text contains "xq7"`, `state.x contains "xq7"`, `int(tool.args.text) > 1`, `tool.args.text`, `state?.x`,
			`text contains "xq7" and tool.args.text[0:3] == "xq7"`, `len(tool.args.text) > 20`, `fromJSON(tool.args.text) == 1`, `date(text) > now()`,
		}).Draw(rt, "condition")
		does := rapid.SampledFrom([]string{
			"action: block",
			"action: flag",
			"action: ask, stages: [tool_args]",
			"mode: shadow, action: block",
			"judge: {model: judge, question: May it?, timeout: 1m, on_error: block}, action: block",
		}).
			Draw(rt, "does")
		failing := rapid.SampledFrom([]string{"block", "allow"}).Draw(rt, "on_error")

		asked := &lockedBuffer{}
		judge := generates(
			func(_ context.Context, req *model.Request, yield func(*model.Response, error) bool) {
				_, _ = asked.Write([]byte(inJSON(req.Contents)))
				yield(
					&model.Response{
						Content: genai.NewContentFromText(`{"flagged": true, "score": 1}`,
							genai.RoleModel),
						FinishReason: genai.FinishReasonStop,
					},
					nil,
				)
			},
		)
		decisions := filepath.Join(t.TempDir(), "decisions.jsonl")
		hidden := sealed(rt, vaultKey, "CANARY", value)
		s := stage(t, guardrail.Config{
			Policy: parse(t, fmt.Sprintf(
				"on_error: %s\nrules:\n  - {id: v, detect: {regexp: {CANARY: 'xq7canary[a-z]+'}}, action: vault}\n  - {id: c, when: '%s', %s}",
				failing,
				condition,
				does,
			)),
			Key:       vaultKey,
			Models:    only(judge),
			Decisions: decisions,
		}, call("send", map[string]any{
			"to":   "a@b",
			"text": hidden,
		}), "it is "+hidden, "done", "done")
		said := ""
		for _, input := range []*session.Event{
			{
				Content: genai.NewContentFromText("it is "+value, genai.RoleUser),
				Actions: session.Actions{StateDelta: map[string]any{"x": value}},
			},
			session.Message("and now?"),
		} {
			for e, err := range s.runner.Run(ctx, key, input, session.RunConfig{Create: true}) {
				if err != nil {
					said += err.Error()
					break
				}
				said += line(e) + inJSON(e) + inJSON(plugin.NotesOf(e))
			}
		}
		require.NoError(rt, s.runner.Close(ctx))
		written, err := os.ReadFile(decisions)
		require.NoError(rt, err)
		for where, text := range map[string]string{
			"events":    said,
			"store":     s.stored(),
			"records":   s.log.String(),
			"decisions": string(written),
			"judge":     asked.String(),
			"metrics":   counted.String(),
			"model":     inJSON(s.model.asked),
			"tools":     inJSON(s.tools),
		} {
			require.NotContains(rt, text, "xq7canary", where)
		}
		require.NotEmpty(rt, counted.String())
	})
}

// counts is a meter provider that keeps the attributes of all that is counted.
type counts struct {
	noop.MeterProvider
	lockedBuffer
}

func (c *counts) Meter(string, ...metric.MeterOption) metric.Meter { return meter{counts: c} }

type meter struct {
	noop.Meter
	counts *counts
}

func (m meter) Int64Counter(
	name string,
	_ ...metric.Int64CounterOption,
) (metric.Int64Counter, error) {
	return counter{counts: m.counts, name: name}, nil
}

type counter struct {
	noop.Int64Counter
	counts *counts
	name   string
}

func (c counter) Add(_ context.Context, _ int64, options ...metric.AddOption) {
	set := metric.NewAddConfig(options).Attributes()
	for _, a := range set.ToSlice() {
		fmt.Fprintf(c.counts, "%s %s=%s\n", c.name, a.Key, a.Value.String())
	}
}
