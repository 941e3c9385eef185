package guardrail_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

var grounded = &genai.GroundingMetadata{
	GroundingChunks: []*genai.GroundingChunk{
		{Web: &genai.GroundingChunkWeb{URI: "https://a.example"}},
	},
}

// What an event brings counts for all of it, whatever stands first.
func TestTaintCountsInItsOwnEvent(t *testing.T) {
	const rules = `
rules:
  - {id: sinks, stages: [tool_args], scope: {tool: send}, trust: untrusted, action: block}
  - {id: links, stages: [output], trust: untrusted, detect: {urls: {allow: [a.example]}}, action: redact}
`
	text := &genai.Part{Text: "see https://evil.example/x"}
	send := &genai.Part{FunctionCall: &genai.FunctionCall{ID: "1", Name: "send"}}
	fetch := &genai.Part{FunctionCall: &genai.FunctionCall{ID: "2", Name: "fetch"}}
	code := &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "x"}}
	looked := &genai.Part{
		ToolResponse: &genai.ToolResponse{
			ToolType: genai.ToolTypeURLContext,
			Response: map[string]any{"a": "b"},
		},
	}
	for name, c := range map[string]struct {
		parts    []*genai.Part
		grounded bool
		trusted  string
		tainted  bool
	}{
		"code first": {parts: []*genai.Part{code, text, send}, tainted: true},
		"code last":  {parts: []*genai.Part{text, send, code}, tainted: true},
		"a tool":     {parts: []*genai.Part{looked, text, send}, tainted: true},
		"grounding":  {parts: []*genai.Part{text, send}, grounded: true, tainted: true},
		"one trusted": {
			parts:   []*genai.Part{text, send, code, looked},
			trusted: "trusted_tools: [code_execution]",
			tainted: true,
		},
		"all trusted": {
			parts:   []*genai.Part{code, text, send, looked},
			trusted: "trusted_tools: [code_execution, URL_*]",
		},
		"only a call": {parts: []*genai.Part{text, send, fetch}},
		"trusted found": {
			parts:    []*genai.Part{text, send},
			grounded: true,
			trusted:  "trusted_tools: [grounding]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := says("bot", c.parts...)
			if c.grounded {
				e.GroundingMetadata = grounded
			}
			got, out := offered(t, quiet(t, with(t, c.trusted+rules)), e)
			require.Equal(t, !c.tainted, strings.Contains(inJSON(got), "evil"))
			require.Equal(t, c.tainted,
				len(out.Emit) == 1 && out.Emit[0].ErrorCode == session.Denied)
			require.Equal(t, c.tainted, got.Actions.StateDelta["guardrail:taint"] != nil)
		})
	}
}

// What a stream has brought counts for what comes after it. What is still to come may be an answer,
// too: what a rule would then hide is not shown before the event is whole.
func TestTaintCountsInItsOwnStream(t *testing.T) {
	const untrusted = `rules: [{id: links, stages: [output], trust: untrusted, detect: {urls: {allow: [a.example]}}, action: redact}]`
	fetch := &genai.Part{FunctionCall: &genai.FunctionCall{ID: "2", Name: "fetch"}}
	text := func(s string) *session.Event { return says("bot", &genai.Part{Text: s}) }
	code := func() *session.Event {
		return says("bot",
			&genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "x"}})
	}
	found := func(s string) *session.Event {
		e := text(s)
		e.GroundingMetadata = grounded
		return e
	}
	for name, c := range map[string]struct {
		rules        string
		chunks       []*session.Event
		whole        *session.Event
		shown, store string
		taint        []any // what the session had before
	}{
		"code first": {
			untrusted,
			[]*session.Event{code(), text("see https://evil.example/x ok ")},
			says("bot", code().Content.Parts[0], &genai.Part{
				Text: "see https://evil.example/x ok ",
			}),
			"see [URL] ok ",
			"see [URL] ok ",
			nil,
		},
		"code that the whole lost": {
			untrusted,
			[]*session.Event{code(), text("see https://evil.example/x ok ")},
			text("see https://evil.example/x ok "),
			"see [URL] ok ",
			"see [URL] ok ",
			nil,
		},
		"grounding last": {
			untrusted,
			[]*session.Event{text("see https://a.example/x and https://evil.example/x ok ")},
			found("see https://a.example/x and https://evil.example/x ok "),
			"see https://a.example/x and ",
			"see https://a.example/x and [URL] ok ",
			nil,
		},
		"grounding with the text": {
			untrusted,
			[]*session.Event{text("see "), found("https://evil.example/x ok ")},
			text("see https://evil.example/x ok "),
			"see [URL] ok ",
			"see [URL] ok ",
			nil,
		},
		"nothing comes": {
			untrusted,
			[]*session.Event{text("see https://evil.example/x ok "), text("and more")},
			text("see https://evil.example/x ok and more"),
			"see ",
			"see https://evil.example/x ok and more",
			nil,
		},
		"nothing is held": {
			untrusted,
			[]*session.Event{text("see https://a.example/x ok "), text("and more ")},
			text("see https://a.example/x ok and more "),
			"see https://a.example/x ok and more ",
			"see https://a.example/x ok and more ",
			nil,
		},
		"code between": {
			untrusted,
			[]*session.Event{text("https://evil.example/x"), code(), text(" then "), text("this ")},
			says("bot", &genai.Part{
				Text: "https://evil.example/x",
			}, code().Content.Parts[0], &genai.Part{Text: " then this "}),
			"[URL] then this ",
			"[URL] then this ",
			nil,
		},
		"code after a call": {
			untrusted,
			[]*session.Event{
				text("https://evil.example/x"),
				says("bot", fetch),
				text(" then "),
				code(),
			},
			says("bot", &genai.Part{
				Text: "https://evil.example/x",
			}, fetch, &genai.Part{Text: " then "}, code().Content.Parts[0]),
			"",
			"[URL] then ",
			nil,
		},
		"code between, all shown": {
			untrusted,
			[]*session.Event{text("one "), code(), text("two ")},
			says("bot", &genai.Part{
				Text: "one ",
			}, code().Content.Parts[0], &genai.Part{Text: "two "}),
			"one two ",
			"one two ",
			nil,
		},
		"a condition": {
			`rules: [{id: r, stages: [output], when: '"grounding" in taint', detect: {words: [heron]}, action: redact}]`,
			[]*session.Event{text("a heron is a bird ")},
			found("a heron is a bird "),
			"a ",
			"a [WORD] is a bird ",
			nil,
		},
		"a condition on more": {
			`rules: [{id: r, stages: [output], when: '"grounding" in taint', detect: {words: [heron]}, action: redact}]`,
			[]*session.Event{text("a heron is a bird ")},
			found("a heron is a bird "),
			"a ",
			"a [WORD] is a bird ",
			[]any{"web"},
		},
		"tainted before": {
			untrusted,
			[]*session.Event{text("see https://evil.example/x ok ")},
			found("see https://evil.example/x ok "),
			"see [URL] ok ",
			"see [URL] ok ",
			[]any{"web"},
		},
		"a condition on no taint": {
			`rules: [{id: r, stages: [output], when: 'not tainted', detect: {words: [heron]}, action: redact}]`,
			[]*session.Event{text("a heron is a bird ")},
			found("a heron is a bird "),
			"a ",
			"a heron is a bird ",
			nil,
		},
		"provider trusted": {
			"trusted_tools: [grounding, code_execution, '*_*']\n" + untrusted,
			[]*session.Event{text("see https://evil.example/x ok ")},
			found("see https://evil.example/x ok "),
			"see https://evil.example/x ok ",
			"see https://evil.example/x ok ",
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := quiet(t, with(t, c.rules))
			inv := &session.Invocation{
				ID:    "i",
				Key:   key,
				State: map[string]any{"guardrail:taint": c.taint},
			}
			shown := ""
			for _, e := range append(c.chunks, c.whole) {
				e.ID, e.Partial = "e", e != c.whole
				out, err := p.OnEvent(ctx, inv, e)
				require.NoError(t, err)
				got := e
				if out.Replace != nil {
					got = out.Replace
				}
				switch {
				case !e.Partial:
					require.Equal(t, c.store, got.Text())
				case !out.Withhold:
					shown += got.Text()
				}
			}
			_, err := p.AfterRun(ctx, inv, plugin.End{})
			require.NoError(t, err)
			require.Equal(t, c.shown, shown)
			require.True(t, strings.HasPrefix(c.store, shown))
		})
	}
}

// A call to which a human has said no has brought nothing.
func TestTaintOfDeclinedCalls(t *testing.T) {
	const rules = "rules: [{id: sinks, stages: [tool_args], scope: {tool: send}, trust: untrusted, action: block}, {id: asks, stages: [tool_args], action: ask}]"
	send, fetch := call("send", map[string]any{"to": "a@b"}), call("fetch", map[string]any{"answer": "x"})
	for name, c := range map[string]struct {
		yes, no []string
		tainted bool
	}{
		"no":         {no: []string{"c-send"}},
		"no and yes": {no: []string{"c-send"}, yes: []string{"c-fetch"}, tainted: true},
		"yes":        {yes: []string{"c-send"}, tainted: true},
	} {
		t.Run(name, func(t *testing.T) {
			calls := []*genai.Part{{FunctionCall: send}}
			if len(c.yes)+len(c.no) > 1 {
				calls = append(calls, &genai.Part{FunctionCall: fetch})
			}
			s := stage(t, guardrail.Config{Policy: parse(t, rules)}, calls, "ok", "ok")
			s.run("1")
			answer := session.Decision(false, c.no...)
			for _, id := range c.yes {
				answer.Actions.RequestedToolConfirmations[id] = session.Confirmation{
					Confirmed: true,
				}
			}
			s.run(answer)
			require.Equal(t, c.tainted, strings.Contains(s.stored(), `"guardrail:taint"`))
		})
	}
}

// put makes another file of a policy's, at once.
func put(t *testing.T, file, rules string) {
	require.NoError(t, os.WriteFile(file+"~", []byte(rules), 0o600))
	require.NoError(t, os.Rename(file+"~", file))
}

// A policy that names trusted_tools notes what was read, for the one after it; so does one that
// comes between the two.
func TestTaintOutlastsReloads(t *testing.T) {
	const plain, asks = "rules: [{id: a, detect: {words: [zero]}, action: redact}]", "rules: [{id: sinks, stages: [tool_args], scope: {tool: send}, trust: untrusted, action: block}]"
	file := filepath.Join(t.TempDir(), "p.yaml")
	put(t, file, "trusted_tools: []\n"+plain)
	s := stage(t, guardrail.Config{File: file, Reload: true}, "1", call("fetch", nil), "2",
		call("send", map[string]any{"to": "a@b"}), "3")
	s.run("1")
	put(t, file, plain)
	s.run("2")
	put(t, file, asks)
	s.run("3")
	require.Len(t, s.tools, 1)
}

// A policy that takes long to load does not come after a newer one, and nobody waits for it.
func TestReloadsDoNotPassEachOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	rules := func(word, more string) string {
		return fmt.Sprintf(
			"rules: [{id: a, stages: [input], detect: {words: [%s]}, action: redact}%s]", word,
			more)
	}
	put(t, file, rules("one", ""))
	loading, load := make(chan bool), make(chan bool)
	s := stage(
		t,
		guardrail.Config{File: file, Reload: true, Models: func(string) (model.Model, error) {
			close(loading)
			<-load
			return &answers{}, nil
		}},
		"ok",
		"ok",
		"ok",
	)
	says := func(id string) (said string) {
		for e, err := range s.runner.Run(ctx, session.Key{
			App:  "app",
			User: "ann",
			ID:   id,
		}, session.Message("one two three"), session.RunConfig{Create: true}) {
			if err == nil && e.Author == session.User {
				said = e.Text()
			}
		}
		return said
	}
	put(t, file, rules(
		"two",
		", {id: slow, stages: [summary], judge: {model: m, question: q, timeout: 1s, on_error: allow}, action: flag}",
	))
	var slow sync.WaitGroup
	done := sync.OnceFunc(func() { close(load); slow.Wait() })
	defer done()
	slow.Go(func() { says("slow") })
	<-loading
	put(t, file, rules("three", ""))
	require.Equal(t, "[WORD] two three", says("meanwhile"))
	done()
	require.Equal(t, "one two [WORD]", says("after"))
}

// A tool is once in the list of what a session has seen.
func TestTaintIsASet(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, stages: [output], trust: untrusted, action: flag}]`))
	answer := func(name string) *genai.Part {
		return &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				Name:     name,
				Response: map[string]any{"a": "b"},
			},
		}
	}
	inv := &session.Invocation{ID: "i", Key: key, State: map[string]any{}}
	out, err := p.OnEvent(ctx, inv, says("bot", answer("web"), answer("mail"), answer("web")))
	require.NoError(t, err)
	require.Equal(t, []any{"web", "mail"}, out.Replace.Actions.StateDelta["guardrail:taint"])
	inv.State["guardrail:taint"] = []any{"web"}
	out, err = p.OnEvent(ctx, inv, says("bot", answer("web")))
	require.NoError(t, err)
	require.True(t, out.IsZero())
}

// What a model's provider has looked up taints the session like a tool's answer.
func TestTaintOfProvidersTools(t *testing.T) {
	for name, e := range map[string]*session.Event{
		"grounding": {
			Author:  "bot",
			Content: genai.NewContentFromText("x", genai.RoleModel),
			GroundingMetadata: &genai.GroundingMetadata{
				GroundingChunks: []*genai.GroundingChunk{
					{Web: &genai.GroundingChunkWeb{URI: "https://a.example"}},
				},
			},
		},
		"code_execution": says("bot", &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "x"}}),
		"URL_CONTEXT":    says("bot", &genai.Part{ToolResponse: &genai.ToolResponse{ToolType: "URL_CONTEXT", Response: map[string]any{"a": "b"}}}),
	} {
		rule := `rules: [{id: r, stages: [tool_args], trust: untrusted, action: block}]`
		got, _ := offered(t, quiet(t, with(t, rule)), e)
		require.Equal(t, []any{name}, got.Actions.StateDelta["guardrail:taint"])
		_, out := offered(t, quiet(t, with(t, fmt.Sprintf("trusted_tools: [%s]\n", name)+rule)), e)
		require.True(t, out.IsZero())
	}
}

// An input is no agent's, and its author is no agent's name.
func TestInputsAreNoAgents(t *testing.T) {
	for _, agent := range []string{"user", "'?*'"} {
		p := quiet(t, with(
			t,
			`rules: [{id: r, scope: {agent: `+agent+`}, detect: {words: [heron]}, action: redact}]`,
		))
		_, out := offered(t, p, input("a heron"))
		require.True(t, out.IsZero(), agent)
	}
}
