package guardrail_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// A canary is put wherever a text can be: it is in nothing that is stored, yielded, recorded or
// said in an error.
func TestCanary(t *testing.T) {
	const canary = "xq7canarybird"
	for _, action := range []string{"redact", "mask", "hash", "vault", "block", "replace"} {
		t.Run(action, func(t *testing.T) {
			rules := `rules: [{id: c, stages: [input, prompt, output, tool_args, tool_result, summary], detect: {regexp: {CANARY: xq7canarybird}}, action: ` + action + `, with: gone}]`
			if action != "replace" {
				rules = strings.Replace(rules, ", with: gone", "", 1)
			}
			c := with(t, rules)
			c.Key = []byte("a key of sixteen bytes, and more")
			s := stage(
				t,
				c,
				[]string{"so xq7can", "ary", "bird it\n", "is"},
				"so "+canary+" it is",
				[]*genai.Part{{Text: "xq7canary"}, {Text: "bird"}},
				call(
					"send",
					map[string]any{"to": canary + "@b", canary: []any{map[string]any{"a": canary}}},
				),
				"ok "+canary,
				call("fetch", map[string]any{"answer": "xq7canary"}),
				errors.New("no model for "+canary),
			)
			said := ""
			for _, input := range []any{"hello", "my " + canary, "hello", "hello", "hello",
				&session.Event{Content: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
					{
						InlineData: &genai.Blob{
							MIMEType:    "text/plain",
							Data:        []byte("x"),
							DisplayName: canary,
						},
					}, {FileData: &genai.FileData{FileURI: "gs://x", DisplayName: canary}},
					{
						ExecutableCode: &genai.ExecutableCode{Code: canary},
					}, {CodeExecutionResult: &genai.CodeExecutionResult{Output: canary}}}}},
				&session.Event{
					Content:        genai.NewContentFromText("state", genai.RoleUser),
					CustomMetadata: map[string]any{"x": []any{canary}},
					Actions: session.Actions{
						StateDelta: map[string]any{"a": canary, canary: "b"},
					},
				},
			} {
				for _, e := range s.events(input) {
					data, err := e.MarshalJSON()
					require.NoError(t, err)
					said += line(e) + string(data)
				}
			}
			for where, text := range map[string]string{
				"stream":  said,
				"store":   s.stored(),
				"records": s.log.String(),
			} {
				require.NotContains(t, text, canary, where)
			}
			require.NotEmpty(t, s.log.String())
			for _, args := range s.tools {
				require.NotContains(t, inJSON(args), canary)
			}
		})
	}
}

// What is said about a text does not quote what is hidden of it.
func TestReasonsDoNotQuote(t *testing.T) {
	const canary = "xq7canarybird"
	for name, rule := range map[string]string{
		"command":   `{id: t, stages: [tool_args], tools: {deny: ["send(rm *)"], other: ask}}`,
		"condition": `{id: t, stages: [tool_args], when: 'int(tool.args.command) > 1', action: block}`,
	} {
		for _, command := range []string{"rm " + canary, canary, canary + " && $" + canary} {
			s := stage(
				t,
				with(
					t,
					`{command_tools: {send: {line: command}}, rules: [{id: c, detect: {regexp: {CANARY: xq7canarybird}}, action: redact}, `+rule+`]}`,
				),
				call("send", map[string]any{"to": "@", "command": command}),
				"ok",
			)
			said := ""
			for _, e := range s.events("hello") {
				said += line(e) + inJSON(e)
			}
			require.NotContains(t, said+s.stored()+s.log.String(), canary, name)
			require.Empty(t, s.tools)
		}
	}
}

// Whatever is in a call's arguments, what is left of them is JSON, and has nothing of what was to
// be hidden.
func FuzzArguments(f *testing.F) {
	f.Add(`{"a":"heron","heron":["x",{"b":"the heron"}],"n":4111111111111111}`)
	f.Add(`{"heron":1,"[WORD]":2,"[WORD] 2":3}`)
	p := quiet(f, with(f, `rules: [{id: r, detect: {regexp: {WORD: heron}}, action: redact}]`))
	inv := &session.Invocation{ID: "i", Key: key}
	f.Fuzz(func(t *testing.T, args string) {
		var v map[string]any
		if json.Unmarshal([]byte(args), &v) != nil {
			return
		}
		e := &session.Event{
			Author: "bot",
			Content: &genai.Content{
				Role:  genai.RoleModel,
				Parts: []*genai.Part{{FunctionCall: call("send", v)}},
			},
		}
		before := inJSON(v)
		out, err := p.OnEvent(ctx, inv, e)
		require.NoError(t, err)
		require.Equal(t, before, inJSON(v), "the event was changed")
		if out.Replace == nil {
			require.NotContains(t, before, "heron")
			return
		}
		after := inJSON(out.Replace.FunctionCalls()[0].Args)
		require.True(t, json.Valid([]byte(after)))
		require.NotContains(t, after, "heron")
		require.NotContains(t, inJSON(out), "heron")
	})
}

// What was hidden is not found again: what stands in its place is no secret, and a token of the
// vault stays one.
func TestWhatIsHiddenStaysHidden(t *testing.T) {
	texts := []string{
		"mail ann@example.com, card 4111 1111 1111 1111, IBAN DE89 3702 0400 4405 3201 00",
		"password: hunter2hunter2Z!",
		`{"api_key": "kq7-Xw2mZr7Lk4xW8nB3tYp6HdJ1sPa6E0"}`,
		"export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENGbPxRfiCYzzq8EXmQrTa",
		"call +1 415 555 2671 at 10.20.30.40, SSN 536-22-8726",
		"https://ann:s3cr3tPassw0rd@db.example.com/x",
		"Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
	}
	for _, action := range []policy.Action{
		policy.Redact,
		policy.Vaulted,
		policy.Hash,
		policy.Mask,
	} {
		p := parse(t, fmt.Sprintf(
			`rules: [{id: s, detect: {secrets: default}, action: %s}, {id: p, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS, IBAN_CODE, PHONE_NUMBER, IP_ADDRESS, US_SSN]}, action: %s}]`,
			action,
			action,
		))
		for _, text := range texts {
			once := p.Judge(policy.Output, policy.Scope{}, text)
			require.Equal(t, action, once.Action, text)
			again := p.Judge(policy.Output, policy.Scope{}, once.Text)
			require.Equal(t, once.Text, again.Text, "%s: %v", text, again.Findings)
		}
	}
}
