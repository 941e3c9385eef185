package guardrail_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// verdicts is an input with a human's yes to some calls, and no to others.
func verdicts(yes, no string) *session.Event {
	e := session.Decision(true, strings.Fields(yes)...)
	for _, id := range strings.Fields(no) {
		e.Actions.RequestedToolConfirmations[id] = session.Confirmation{}
	}
	return e
}

// What is held is judged again when a human approves it: by the policy in force then, and what was
// read meanwhile.
func TestApprovedCallsAreJudgedAgain(t *testing.T) {
	send := func(id, text string) *genai.Part {
		return &genai.Part{
			FunctionCall: &genai.FunctionCall{
				ID:   id,
				Name: "send",
				Args: map[string]any{"to": "a@b", "text": text},
			},
		}
	}
	const asks = `rules: [{id: a, stages: [tool_args], scope: {tool: send}, action: ask}]`
	one := []*genai.Part{send("1", "heron")}
	const tainted = `rules: [{id: a, stages: [tool_args], scope: {tool: send}, action: ask}, {id: b, stages: [tool_args], scope: {tool: send}, trust: untrusted, action: block, message: Not now.}]`
	const no = `plugin/guardrail: send={"error":"not executed: the policy's rule r does not allow this call of send; go on without it, or call it in a way that the rule allows"} [DENIED]`
	for name, c := range map[string]struct {
		before, after string // the policy then and now
		calls         []*genai.Part
		input         *session.Event
		want          []string // after the input
		ran           int      // after it
		log           string
	}{
		"the same policy": {
			asks,
			asks,
			one,
			verdicts("1", ""),
			[]string{`bot: send={"ok":true}`, "bot: done"},
			1,
			"",
		},
		"it denies now": {
			asks,
			`rules: [{id: r, stages: [tool_args], scope: {tool: send}, action: block}]`,
			one,
			verdicts("1", ""),
			[]string{no, "bot: done"},
			0,
			`"rule":"r","stage":"tool_args","type":"TEXT","action":"block"`,
		},
		"a list does": {
			asks,
			`rules: [{id: r, stages: [tool_args], tools: {deny: [send]}}]`,
			one,
			verdicts("1", ""),
			[]string{
				`plugin/guardrail: send={"error":"The policy's rule r: send is in the list of the rule."} [DENIED]`,
				"bot: done",
			},
			0,
			"",
		},
		"it looks at the arguments": {
			asks,
			`rules: [{id: r, stages: [tool_args], detect: {words: [heron]}, action: block}]`,
			[]*genai.Part{
				send("1", "heron"),
				send("2", "a cat"),
			},
			verdicts("1 2", ""),
			[]string{no, `bot: send={"ok":true}`, "bot: done"},
			1,
			"",
		},
		"no stays no": {
			asks,
			`rules: [{id: r, stages: [tool_args], detect: {words: [heron]}, action: block}]`,
			[]*genai.Part{
				send("1", "heron"),
				send("2", "a cat"),
			},
			verdicts("1", "2"),
			[]string{
				no,
				`bot: send={"declined":true,"error":"declined: a human has said no to this call"}`,
				"bot: done",
			},
			0,
			"",
		},
		"another waits on": {
			asks,
			`rules: [{id: r, stages: [tool_args], detect: {words: [heron]}, action: block}]`,
			[]*genai.Part{
				send("1", "heron"),
				send("2", "a cat"),
			},
			verdicts("1", ""),
			[]string{no},
			0,
			"",
		},
		"tainted meanwhile": {
			tainted,
			tainted,
			[]*genai.Part{
				send("1", "x"),
				{FunctionCall: call("fetch", map[string]any{"answer": "y"})},
			},
			verdicts("1", ""),
			[]string{`plugin/guardrail: send={"error":"Not now."} [DENIED]`, "bot: done"},
			0,
			"",
		},
		"tainted, and it asks": {
			asks,
			strings.Replace(asks, "action", "trust: untrusted, action", 1),
			[]*genai.Part{
				send("1", "x"),
				{FunctionCall: call("fetch", map[string]any{"answer": "y"})},
			},
			verdicts("1", ""),
			[]string{`bot: send={"ok":true}`, "bot: done"},
			1,
			"",
		},
		"a condition that fails": {
			asks,
			`rules: [{id: r, stages: [tool_args], when: 'state.n > 1', action: block}]`,
			one,
			verdicts("1", ""),
			[]string{
				`plugin/guardrail: send={"error":"This could not be checked against the policy."} [DENIED]`,
				"bot: done",
			},
			0,
			`"level":"ERROR"`,
		},
		"one that may fail": {
			asks,
			"on_error: allow\nrules: [{id: r, stages: [tool_args], when: 'state.n > 1', action: block}]",
			one,
			verdicts("1", ""),
			[]string{`bot: send={"ok":true}`, "bot: done"},
			1,
			`"level":"ERROR"`,
		},
		"in shadow": {
			asks,
			`{mode: shadow, rules: [{id: r, stages: [tool_args], scope: {tool: send}, action: block}]}`,
			one,
			verdicts("1", ""),
			[]string{`bot: send={"ok":true}`, "bot: done"},
			1,
			`"would_action":"block"`,
		},
		"what it would take out": {
			asks,
			`rules: [{id: r, stages: [tool_args], detect: {words: [heron]}, action: redact}]`,
			one,
			verdicts("1", ""),
			[]string{`bot: send={"ok":true}`, "bot: done"},
			1,
			"",
		},
		"a window is before the call": {
			asks,
			asks[:len(asks)-1] + `, {id: w, stages: [tool_args], window: session, detect: {regexp: 'a@bheron'}, action: block}]`,
			one,
			verdicts("1", ""),
			[]string{`bot: send={"ok":true}`, "bot: done"},
			1,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for where, wrap := range map[string]func(*plugin.Plugin) *plugin.Plugin{
				"here":         nil,
				"as a process": remote.Loopback,
			} {
				if name == "one that may fail" && wrap != nil {
					continue // a process's FailOpen is its configuration's
				}
				file := filepath.Join(t.TempDir(), "p.yaml")
				require.NoError(t, os.WriteFile(file, []byte(c.before), 0o600))
				s := stageIn(t, wrap, guardrail.Config{File: file, Reload: true}, c.calls, "done")
				require.Contains(t, strings.Join(s.run("go"), "\n"), "plugin/guardrail: [", where)
				s.tools = nil
				s.log.Reset()
				require.NoError(t, os.WriteFile(file, []byte(c.after), 0o600))
				at := time.Now().Add(time.Hour)
				require.NoError(t, os.Chtimes(file, at, at))
				events := s.events(c.input)
				var lines []string
				for _, e := range events[1:] {
					lines = append(lines, line(e))
					if e.ErrorCode == session.Denied {
						note, ok := guardrail.NoteOf(e)
						require.True(t, ok)
						require.Equal(t, policy.ToolArgs, note.Records[0].Stage)
						require.NotContains(t, inJSON(note)+e.ErrorMessage, "heron")
						require.NotEmpty(t, plugin.NotesOf(e).Reason)
					}
				}
				require.Equal(t, c.want, lines, where)
				require.Len(t, s.tools, c.ran)
				require.Contains(t, s.log.String(), c.log)
				require.NotContains(t, s.log.String(), "heron")
				if !strings.Contains(strings.Join(lines, ""), "DENIED") {
					require.NotContains(t, s.log.String(), `"action":"ask"`,
						"nobody is asked again")
				}
				given := events[0].Actions.RequestedToolConfirmations
				require.Len(t, given, len(c.input.Actions.RequestedToolConfirmations))
				for id, want := range c.input.Actions.RequestedToolConfirmations {
					want.Name = "ann" // the runner says who gave it
					require.Equal(t, want, given[id], "the verdict stays as it was given")
				}
				noted := len(plugin.NotesOf(events[0]).Changed) > 0
				require.Equal(t, name == "in shadow", noted,
					"only what a rule in shadow would deny is noted on the verdict")
				if noted {
					note, _ := guardrail.NoteOf(events[0])
					require.Equal(t, []policy.Action{policy.Allow, policy.Block},
						[]policy.Action{note.Records[0].Action, note.Records[0].Would})
				}
				require.Equal(t, name == "one that may fail",
					len(plugin.NotesOf(events[0]).Unchecked) > 0)
			}
		})
	}
}

// Where calls share an id, and the answer would go to another one, the yes becomes a no.
func TestApprovalOfOneOfTwoCallsOfAnID(t *testing.T) {
	s := stage(
		t,
		with(
			t,
			`rules: [{id: r, stages: [tool_args], scope: {tool: send}, action: block, message: Not now.}]`,
		),
		"done",
	)
	_, err := s.sessions.Create(ctx, key, nil)
	require.NoError(t, err)
	calls := func(name string) *session.Event {
		return &session.Event{
			Author:       "bot",
			InvocationID: "before",
			Content: &genai.Content{
				Role: genai.RoleModel,
				Parts: []*genai.Part{
					{
						FunctionCall: &genai.FunctionCall{
							ID:   "1",
							Name: name,
							Args: map[string]any{"to": "a@b"},
						},
					},
				},
			},
		}
	}
	asks := session.Decision(false, "1")
	asks.Author = "plugin/guardrail"
	later := &session.Event{Author: "bot", LongRunningToolIDs: []string{"1"}}
	_, err = s.sessions.Append(ctx, session.AppendTarget{Key: key}, calls("send"), asks,
		calls("fetch"), later)
	require.NoError(t, err)
	require.Equal(
		t,
		[]string{
			"user: [1: ]",
			`bot: send={"declined":true,"error":"declined: a human has said no to this call","reason":"Not now."}`,
			"bot: done",
		},
		s.run(session.Decision(true, "1")),
	)
	require.Empty(t, s.tools)
}

// A call of an agent that is called like a tool is answered in its own conversation.
func TestApprovalInABranch(t *testing.T) {
	model := &answers{
		list: []any{
			call("helper", map[string]any{"request": "x"}),
			call("send", nil),
			"I was not let",
			"so be it",
		},
	}
	ran := 0
	helper, err := llm.New(llm.Config{
		Name:  "helper",
		Model: model,
		Tools: []*tool.Tool{
			tool.Confirm(&tool.Tool{Declaration: &genai.FunctionDeclaration{Name: "send"},
				Run: func(context.Context, *tool.Call) (map[string]any, error) { ran++; return nil, nil }}, "Well?"),
		},
	})
	require.NoError(t, err)
	bot, err := llm.New(llm.Config{Name: "bot", Model: model, AgentTools: []agent.Agent{helper}})
	require.NoError(t, err)
	guard, err := guardrail.New(guardrail.Config{
		Policy: parse(
			t,
			`rules: [{id: r, stages: [tool_args], scope: {agent: helper, branch: "helper@*"}, when: 'state.locked ?? false', action: block, message: Not now.}]`,
		),
		Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	sessions := memory.New()
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: sessions, Plugins: []*plugin.Plugin{guard}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
	s := &scene{t: t, model: model, sessions: sessions, runner: r}
	s.run("go")
	locks := &session.Event{
		Author:  "bot",
		Actions: session.Actions{StateDelta: map[string]any{"locked": true}},
	}
	now, err := sessions.Get(ctx, key)
	require.NoError(t, err)
	_, err = sessions.Append(ctx, session.AppendTarget{Key: key, After: now.Position}, locks)
	require.NoError(t, err)
	lines := s.run(session.Decision(true, "c-send-helper_c-helper"))
	require.Contains(t, lines, `plugin/guardrail: send={"error":"Not now."} [DENIED]`)
	require.Equal(t, "bot: so be it", lines[len(lines)-1])
	require.Contains(t, strings.Join(lines, "\n"), "helper: I was not let")
	require.Zero(t, ran)
	for e, err := range sessions.Read(ctx, key, session.Selection{}) {
		require.NoError(t, err)
		if e.ErrorCode == session.Denied {
			require.Equal(t, "helper@c-helper", e.Branch)
		}
	}
}

// A call that a human has approved is asked about again, of judges too.
func TestApprovedCallsAreAskedAbout(t *testing.T) {
	for _, mode := range []string{"", ", mode: shadow"} {
		court := answered(t, `{"flagged": true}`)
		log := &lockedBuffer{}
		p := plug(t, guardrail.Config{
			Policy: court.rule(t, "stages: [tool_args], message: Not now., action: block"+mode,
				patient),
			Log: slog.New(slog.NewJSONHandler(log, nil)),
		})
		held := says("bot", &genai.Part{FunctionCall: call("send", map[string]any{"to": "a@b"})})
		asks := &session.Event{
			ID:     "q",
			Author: "plugin/guardrail",
			Actions: session.Actions{
				RequestedToolConfirmations: map[string]session.Confirmation{
					"c-send": {Hint: "Well?"},
				},
			},
		}
		yes := verdicts("c-send", "")
		yes.ID, yes.Author = "y", session.User
		out, err := p.OnEvent(ctx,
			&session.Invocation{ID: "i", Key: key, Live: []*session.Event{held, asks}}, yes)
		require.NoError(t, err)
		require.NoError(t, p.Close(ctx))
		require.Equal(t, []string{`tool_args: {"to":"a@b"}`}, court.texts())
		require.Equal(t, mode == "",
			len(out.Emit) == 1 && strings.Contains(inJSON(out.Emit[0]), "Not now."))
		require.Contains(t, log.String(), `"rule":"topic"`)
	}
}

// A yes that was rewound is judged anew when it is given again: by the policy of then.
func TestApprovalAfterARewindIsJudgedByThePolicyInForce(t *testing.T) {
	const (
		allows = `{command_tools: {shell: {line: command}}, rules: [{id: sh, stages: [tool_args], tools: {deny: ["shell(sudo *)"], allow: ["shell(*)"]}}]}`
		denies = `{command_tools: {shell: {line: command}}, rules: [{id: sh, stages: [tool_args], tools: {deny: ["shell(rm *)"], allow: ["shell(*)"]}}]}`
	)
	for where, wrap := range map[string]func(*plugin.Plugin) *plugin.Plugin{
		"here":         nil,
		"as a process": remote.Loopback,
	} {
		t.Run(where, func(t *testing.T) {
			rm := &genai.FunctionCall{
				ID:   "1",
				Name: "shell",
				Args: map[string]any{"command": "rm -r build"},
			}
			file := filepath.Join(t.TempDir(), "p.yaml")
			writes := func(policy string, age time.Duration) {
				require.NoError(t, os.WriteFile(file, []byte(policy), 0o600))
				at := time.Now().Add(age)
				require.NoError(t, os.Chtimes(file, at, at))
			}
			ran := 0
			writes(allows, 0)
			guard, err := guardrail.New(
				guardrail.Config{File: file, Reload: true, Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			if wrap != nil {
				guard = wrap(guard)
			}
			bot, err := llm.New(llm.Config{
				Name:  "bot",
				Model: &answers{list: []any{rm, "done", "so be it"}},
				Tools: []*tool.Tool{tool.Confirm(&tool.Tool{
					Declaration: &genai.FunctionDeclaration{Name: "shell"},
					Run:         func(context.Context, *tool.Call) (map[string]any, error) { ran++; return nil, nil },
				}, "sure?")},
			})
			require.NoError(t, err)
			sessions := memory.New()
			r, err := runner.New(
				runner.Options{Agent: bot, Sessions: sessions, Plugins: []*plugin.Plugin{guard}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
			s := &scene{t: t, sessions: sessions, runner: r}

			// The tool holds the call. It is approved and executed, under a policy that allows it.
			require.Contains(t, strings.Join(s.run("clean up"), "\n"), "bot: [1: sure?]")
			held, err := sessions.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, []string{"user: [1: ]", "bot: shell={}", "bot: done"},
				s.run(session.Decision(true, "1")))
			require.Equal(t, 1, ran)

			// The yes is rewound, so that the call waits again. Under the policy of now it is
			// denied.
			now, err := sessions.Get(ctx, key)
			require.NoError(t, err)
			_, err = sessions.Append(
				ctx,
				session.AppendTarget{Key: key, After: now.Position},
				&session.Event{Author: "plugin/rewind",
					Actions: session.Actions{Rewind: &session.Rewind{To: held.Position}}},
			)
			require.NoError(t, err)
			writes(denies, time.Hour)
			require.Equal(t, []string{"user: [1: ]",
				`plugin/guardrail: shell={"error":"The policy's rule sh: rm is denied by rm *."} [DENIED]`, "bot: so be it"}, s.run(session.Decision(true, "1")))
			require.Equal(t, 1, ran)
		})
	}
}
