package guardrail_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// parse parses a policy.
func parse(t testing.TB, rules string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("p.yaml", []byte(rules))
	require.NoError(t, err)
	return p
}

func with(t testing.TB, rules string) guardrail.Config {
	return guardrail.Config{Policy: parse(t, rules)}
}

func TestEveryPluginsRules(t *testing.T) {
	p, err := guardrail.New(guardrail.Config{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	plugintest.Check(t, p)
}

func TestConversations(t *testing.T) {
	fetch := func(answer any) *genai.FunctionCall {
		return call("fetch", map[string]any{
			"answer": answer,
		})
	}
	for name, c := range map[string]struct {
		rules  string
		model  []any
		inputs []any
		want   []string
	}{
		"input blocked, and the next turn works": {
			`rules: [{id: r, stages: [input], detect: {words: [heron]}, action: block, message: No birds.}]`,
			[]any{"hello"},
			[]any{"a heron", "a cat"},
			[]string{"plugin/guardrail: No birds. [DENIED]", "user: a cat", "bot: hello"},
		},
		"input redacted": {
			`rules: [{id: r, stages: [input], detect: {words: [heron]}, action: redact}]`,
			[]any{"hello"},
			[]any{"a heron"},
			[]string{"user: a [WORD]", "bot: hello"},
		},
		"output blocked": {
			`rules: [{id: r, stages: [output], detect: {words: [heron]}, action: block}]`,
			[]any{"a heron", "a cat"},
			[]any{"1", "2"},
			[]string{
				"user: 1",
				"plugin/guardrail: I cannot go on with this: a policy does not allow it. [DENIED]",
				"user: 2",
				"bot: a cat",
			},
		},
		"neighbouring parts are one text": {
			`rules: [{id: r, stages: [output], detect: {words: [heron]}, action: redact}]`,
			[]any{
				[]*genai.Part{{Text: "a he"}, {Text: "ron"}, {Text: "he", Thought: true}},
			},
			[]any{"1"},
			[]string{"user: 1", "bot: a [WORD]  he"},
		},
		"call denied": {`rules: [{id: r, stages: [tool_args], scope: {tool: send}, action: block}]`,
			[]any{call("send", map[string]any{"to": "a@b"}), "sorry"}, []any{"1"},
			[]string{
				"user: 1",
				`bot: send{"to":"a@b"}`,
				`plugin/guardrail: send={"error":"not executed: the policy's rule r does not allow this call of send; go on without it, or call it in a way that the rule allows"} [DENIED]`,
				"bot: sorry",
			}},
		"call denied for what is in it": {
			`rules: [{id: r, stages: [tool_args], detect: {words: [heron]}, action: block, message: No birds.}]`,
			[]any{call("send", map[string]any{"to": "a@b", "text": "heron"}), "sorry"},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: send{"text":"[WORD]","to":"a@b"}`,
				`plugin/guardrail: send={"error":"No birds."} [DENIED]`,
				"bot: sorry",
			},
		},
		"call edited": {
			`rules: [{id: r, stages: [tool_args], detect: {words: [heron]}, action: redact}]`,
			[]any{call("send", map[string]any{"to": "a@b", "text": "heron"}), "done"},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: send{"text":"[WORD]","to":"a@b"}`,
				`bot: send={"ok":true}`,
				"bot: done",
			},
		},
		"call that no longer fits its schema": {
			`rules: [{id: r, stages: [tool_args], detect: {pii: [EMAIL_ADDRESS]}, action: redact}]`,
			[]any{call("send", map[string]any{"to": "ann@example.com"}), "sorry"},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: send{"to":"[EMAIL_ADDRESS]"}`,
				`plugin/guardrail: send={"error":"not executed: the policy's rule r takes EMAIL_ADDRESS out of the arguments, and without it they are not what send takes: `,
				"bot: sorry",
			},
		},
		"name of an argument": {
			`rules: [{id: r, stages: [tool_args], detect: {words: [heron]}, action: redact}]`,
			[]any{call("fetch", map[string]any{"heron": "x"}), "sorry"},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: fetch{"[WORD]":"x"}`,
				`plugin/guardrail: fetch={"error":"not executed: the policy's rule r takes out the name of the function or of an argument; use other names"} [DENIED]`,
				"bot: sorry",
			},
		},
		"call held": {
			`rules: [{id: r, stages: [tool_args], scope: {tool: send}, action: ask, message: really?}]`,
			[]any{
				call("send", map[string]any{"to": "a@b"}),
				"done",
			},
			[]any{"1", session.Decision(true, "c-send")},
			[]string{
				"user: 1",
				`bot: send{"to":"a@b"}`,
				"plugin/guardrail: [c-send: really?]",
				"user: [c-send: ]",
				`bot: send={"ok":true}`,
				"bot: done",
			},
		},
		"result redacted": {
			`rules: [{id: r, stages: [tool_result], detect: {words: [heron]}, action: redact}]`,
			[]any{fetch(map[string]any{"a": []any{"heron", 1, "x"}}), "done"},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: fetch{"answer":{"a":["heron",1,"x"]}}`,
				`bot: fetch={"result":{"a":["[WORD]",1,"x"]}}`,
				"bot: done",
			},
		},
		"number in a result": {
			`rules: [{id: r, stages: [tool_result], detect: {pii: [CREDIT_CARD]}, action: redact}]`,
			[]any{fetch(map[string]any{"card": 4111111111111111}), "done"},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: fetch{"answer":{"card":4111111111111111}}`,
				`bot: fetch={"result":{"card":"[CREDIT_CARD]"}}`,
				"bot: done",
			},
		},
		"result blocked": {
			`rules: [{id: r, stages: [tool_result], detect: {words: [heron]}, action: block}]`,
			[]any{fetch("heron"), "done"},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: fetch{"answer":"heron"}`,
				`bot: fetch={"error":"withheld: the policy's rule r does not let the answer of fetch pass; go on without it"}`,
				"bot: done",
			},
		},
		"prompt redacted": {
			`rules: [{id: r, stages: [prompt], detect: {words: [heron]}, action: redact}]`,
			[]any{"hello"},
			[]any{"a heron"},
			[]string{"user: a heron", "bot: hello"},
		},
		"prompt blocked": {
			`rules: [{id: r, stages: [prompt], detect: {words: [heron]}, action: block, message: No birds.}]`,
			nil,
			[]any{"a heron"},
			[]string{"user: a heron", "plugin/guardrail: No birds. [DENIED]"},
		},
		"shadow": {`{mode: shadow, rules: [{id: r, detect: {words: [heron]}, action: block}]}`,
			[]any{"your heron"}, []any{"a heron"}, []string{"user: a heron", "bot: your heron"}},
		"window of a turn": {
			`rules: [{id: r, stages: [output], window: turn, detect: {words: [blue heron]}, action: block, message: No birds.}]`,
			[]any{
				[]*genai.Part{{Text: "it is blue"}, {FunctionCall: fetch("x")}},
				"heron",
			},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: it is blue fetch{"answer":"x"}`,
				`bot: fetch={"result":"x"}`,
				"plugin/guardrail: No birds. [DENIED]",
			},
		},
		"window of a session": {
			`rules: [{id: r, stages: [input], window: session, detect: {words: [blue heron]}, action: block, message: No birds.}]`,
			[]any{"yes"},
			[]any{"it is blue", "heron"},
			[]string{"user: it is blue", "bot: yes", "plugin/guardrail: No birds. [DENIED]"},
		},
		"tainted": {
			`{trusted_tools: [clock], rules: [{id: r, stages: [tool_args], scope: {tool: send}, trust: untrusted, action: block, message: Not now.}]}`,
			[]any{
				call("send", map[string]any{"to": "a@b"}),
				fetch("x"),
				&genai.FunctionCall{ID: "2", Name: "send", Args: map[string]any{"to": "a@b"}},
				"done",
			},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: send{"to":"a@b"}`,
				`bot: send={"ok":true}`,
				`bot: fetch{"answer":"x"}`,
				`bot: fetch={"result":"x"}`,
				`bot: send{"to":"a@b"}`,
				`plugin/guardrail: send={"error":"Not now."} [DENIED]`,
				"bot: done",
			},
		},
		"condition on arguments": {
			`rules: [{id: r, stages: [tool_args], when: 'tool.name == "send" && !(tool.args.to endsWith "@corp.example")', action: block, message: Only inside.}]`,
			[]any{call("send", map[string]any{"to": "a@b"}), "sorry"},
			[]any{"1"},
			[]string{
				"user: 1",
				`bot: send{"to":"a@b"}`,
				`plugin/guardrail: send={"error":"Only inside."} [DENIED]`,
				"bot: sorry",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for where, wrap := range map[string]func(*plugin.Plugin) *plugin.Plugin{
				"here":         nil,
				"as a process": remote.Loopback,
			} {
				s := stageIn(t, wrap, with(t, c.rules), c.model...)
				var got []string
				for _, input := range c.inputs {
					got = append(got, s.run(input)...)
				}
				require.Len(t, got, len(c.want), "%s: %q", where, got)
				for i := range got {
					require.Contains(t, got[i], c.want[i], where)
				}
			}
		})
	}
}

// What could not be judged passes with on_error: allow, and is marked.
func TestOnError(t *testing.T) {
	const rule = `rules: [{id: r, stages: [input], when: 'state.n > 1', action: block}]`
	s := stage(t, with(t, rule), "hello")
	require.Equal(t,
		[]string{"plugin/guardrail: This could not be checked against the policy. [DENIED]"},
		s.run("1"))
	require.Contains(t, s.log.String(), `"level":"ERROR"`)

	s = stage(t, with(t, "on_error: allow\n"+rule), "hello")
	events := s.events("1")
	require.Equal(t, "user: 1", line(events[0]))
	require.Equal(t, []plugin.Note{{Plugin: "guardrail", Hook: plugin.OnEvent}},
		plugin.NotesOf(events[0]).Unchecked)
	require.Contains(t, s.log.String(), "rule r: when: ")
}

func TestPrompt(t *testing.T) {
	s := stage(t,
		with(t, `rules: [{id: r, stages: [prompt], detect: {words: [heron]}, action: redact}]`),
		"hello", "hello")
	s.run("a heron")
	s.run("a cat")
	last := s.model.asked[1].Contents
	require.Equal(t, "a [WORD]", last[0].Parts[0].Text)
	require.Equal(t, "a cat", last[len(last)-1].Parts[0].Text)
	require.Contains(t, s.stored(), "a heron")
}

// What the session has seen is in its state: a tool's answer taints it, and only that; nobody else
// says so.
func TestTaintIsInTheState(t *testing.T) {
	const rules = `{trusted_tools: [send], rules: [{id: r, stages: [output], trust: untrusted, action: flag}]}`
	s := stage(t, with(t, rules), call("send", map[string]any{"to": "a@b"}), "1",
		call("fetch", nil), "2", "3")
	state := func() any {
		sess, err := s.sessions.Get(ctx, key)
		require.NoError(t, err)
		return sess.State["guardrail:taint"]
	}
	s.run("1")
	require.Nil(t, state())
	s.run("2")
	require.Equal(t, []any{"fetch"}, state())
	require.Contains(t, s.stored(),
		"the session now has an answer of a tool that the policy does not trust")
	erase := &session.Event{
		Content: genai.NewContentFromText("3", genai.RoleUser),
		Actions: session.Actions{StateDelta: map[string]any{"guardrail:taint": nil}},
	}
	for _, err := range s.runner.Run(ctx, key, erase, session.RunConfig{}) {
		require.ErrorContains(t, err, `"guardrail:taint" belongs to plugin guardrail`)
	}
	require.Equal(t, []any{"fetch"}, state())
}

// What goes with a text that was edited says the same, and goes.
func TestGroundingGoesWithWhatIsEdited(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {words: [heron]}, action: redact}]`))
	e := session.Reply("a heron")
	e.Author, e.GroundingMetadata = "bot", &genai.GroundingMetadata{
		WebSearchQueries: []string{"heron"},
	}
	out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key}, e)
	require.NoError(t, err)
	require.Nil(t, out.Replace.GroundingMetadata)
	require.NotNil(t, e.GroundingMetadata)
}

// What a detector finds whole in one view of a text, and a part of in another, is one finding.
func TestAPartOfAFindingIsNone(t *testing.T) {
	p := policy.Default()
	for _, text := range []string{
		"call me at (415)\u00a0555-2671",
		"or (415)\u2009555\u20112671.",
		"(415)\u00a0555-2671",
	} {
		v := p.Judge(policy.Output, policy.Scope{}, text)
		require.Len(t, v.Findings, 1, text)
		require.Equal(t, strings.IndexByte(text, '('), v.Findings[0].Start)
	}
}

func TestNewRefuses(t *testing.T) {
	p := policy.Default()
	for name, c := range map[string]struct {
		config guardrail.Config
		want   string
	}{
		"no file": {guardrail.Config{File: "none.yaml"}, "none.yaml"},
		"both": {
			guardrail.Config{File: "none.yaml", Policy: p},
			"a file and a policy",
		},
		"nothing to reload": {guardrail.Config{Reload: true}, "there is no file to read again"},
		"short key": {
			guardrail.Config{Key: []byte("x")},
			"the key's length is 1; it must be 16 bytes or more",
		},
		"no key": {
			guardrail.Config{KeyEnv: "NO_SUCH_KEY"},
			"the environment variable NO_SUCH_KEY is not set",
		},
		"vault without a key": {
			guardrail.Config{
				Policy: parse(t, `rules: [{id: v, detect: {secrets: default}, action: vault}]`),
			},
			"there is no key to open one with",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guardrail.New(c.config)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSummaries(t *testing.T) {
	summary := func(text string) *session.Event {
		return &session.Event{
			Author: "plugin/compaction",
			Actions: session.Actions{
				Compaction: &session.Compaction{
					Through: 1,
					Content: genai.NewContentFromText(text, genai.RoleUser),
				},
			},
		}
	}
	inv := &session.Invocation{ID: "i", Key: key}
	for name, c := range map[string]struct{ rules, want string }{
		"redacted": {
			`rules: [{id: r, stages: [summary], detect: {words: [heron]}, action: redact}]`,
			"a [WORD] flew",
		},
		"blocked": {
			`rules: [{id: r, stages: [summary], detect: {words: [heron]}, action: block}]`,
			"a [WORD] flew",
		},
		"blocked as a whole": {
			`rules: [{id: r, stages: [summary], when: 'text contains "heron"', action: block}]`,
			"[a policy withholds this summary]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := quiet(t, with(t, c.rules)).OnEvent(ctx, inv, summary("a heron flew"))
			require.NoError(t, err)
			require.False(t, out.Stop)
			require.Equal(t, c.want, out.Replace.Actions.Compaction.Content.Parts[0].Text)
			require.Equal(t, int64(1), out.Replace.Actions.Compaction.Through)
		})
	}
}
