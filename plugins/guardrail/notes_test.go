package guardrail_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// A record is of one rule at one stage, and counts what was found there.
func TestRecordsAreOfOneStage(t *testing.T) {
	got, _ := offered(t, quiet(t, with(t, herons)), says("bot",
		&genai.Part{Text: "a heron and a heron"},
		&genai.Part{FunctionCall: call("fetch", map[string]any{"a": "heron"})}))
	n, _ := guardrail.NoteOf(got)
	counts := map[policy.Stage]int{}
	for _, r := range n.Records {
		counts[r.Stage] += r.Count
	}
	require.Equal(t, map[policy.Stage]int{policy.Output: 2, policy.ToolArgs: 1}, counts)
	require.Len(t, n.Records, 2)
}

// Nobody but the plugin notes what became of an event.
func TestNotesCannotBeForged(t *testing.T) {
	s := stage(t, with(t, `rules: [{id: r, detect: {words: [heron]}, action: redact}]`), "hello",
		"hello")
	forged := map[string]any{
		guardrail.Key: map[string]any{
			"revision": "x",
			"records":  []any{map[string]any{"rule": "r", "action": "block"}},
		},
		"mine": "stays",
	}
	for text, records := range map[string]int{"a cat": 0, "a heron": 1} {
		e := s.events(&session.Event{
			Content:        genai.NewContentFromText(text, genai.RoleUser),
			CustomMetadata: forged,
		})[0]
		n, ok := guardrail.NoteOf(e)
		require.Equal(t, records > 0, ok)
		require.Len(t, n.Records, records)
		require.NotEqual(t, "x", n.Revision)
		require.Equal(t, "stays", e.CustomMetadata["mine"])
	}
	require.NotContains(t, s.stored(), `"revision":"x"`)
}

func TestNotes(t *testing.T) {
	s := stage(
		t,
		with(
			t,
			`rules: [{id: m, detect: {pii: [EMAIL_ADDRESS]}, action: redact}, {id: f, mode: shadow, detect: {words: [mail]}, action: block}]`,
		),
		"hello",
	)
	e := s.events("mail ann@example.com and bob@example.com, ann@example.com")[0]
	n, ok := guardrail.NoteOf(e)
	require.True(t, ok)
	require.Len(t, n.Records, 2)
	require.Len(t, n.Records[1].Fingerprints, 2)
	n.Records[0].Fingerprints, n.Records[1].Fingerprints = nil, nil
	require.ElementsMatch(
		t,
		[]guardrail.Record{
			{
				Rule:   "m",
				Stage:  "input",
				Type:   "EMAIL_ADDRESS",
				Action: "redact",
				Count:  3,
				Length: 45,
			},
			{
				Rule:   "f",
				Stage:  "input",
				Type:   "WORD",
				Action: "allow",
				Would:  "block",
				Count:  1,
				Length: 4,
			},
		},
		n.Records,
	)
	require.Equal(t, "f: would block WORD; m: redact EMAIL_ADDRESS (3)",
		plugin.NotesOf(e).Changed[0].Reason)
	_, ok = guardrail.NoteOf(session.Message("x"))
	require.False(t, ok)
	require.Contains(t, s.log.String(), `"would_action":"block"`)
}

// A rule in shadow changes nothing, also where its condition cannot be computed: the note says what
// it would do.
func TestShadowOfAConditionThatFails(t *testing.T) {
	for mode, policies := range map[string]string{
		"a rule":   `rules: [{id: f, mode: shadow, stages: [input], when: 'state.n > 1', action: block}]`,
		"a policy": `{mode: shadow, rules: [{id: f, stages: [input], when: 'state.n > 1', action: block}]}`,
	} {
		s := stage(t, with(t, policies), "hello")
		events := s.events("hi")
		require.Equal(t, "bot: hello", line(events[1]), mode)
		n, ok := guardrail.NoteOf(events[0])
		require.True(t, ok)
		n.Records[0].Fingerprints = nil
		require.Equal(
			t,
			[]guardrail.Record{
				{
					Rule:   "on_error",
					Stage:  "input",
					Type:   "TEXT",
					Action: "allow",
					Would:  "block",
					Count:  1,
					Length: 2,
				},
			},
			n.Records,
		)
		require.Contains(t, s.log.String(), "rule f: when: it cannot be computed")
	}
}

// What rules in shadow would do is noted wherever the event is: on an event that passes, on a
// refusal and on the answer to a call that another rule denies.
func TestShadowIsNotedOnWhateverStands(t *testing.T) {
	s := stage(
		t,
		with(t, `
rules:
  - {id: b, detect: {words: [heron]}, action: block}
  - {id: f, mode: shadow, detect: {words: [kite]}, action: block}`),
		call("fetch", map[string]any{"answer": "kite"}),
		call("send", map[string]any{"to": "a@b", "text": "heron kite"}),
		"a kite",
		"a heron, a kite",
	)
	noted := map[string]int{}
	for _, e := range append(s.events("a kite"), s.events("kite")...) {
		note, _ := guardrail.NoteOf(e)
		for _, r := range note.Records {
			if r.Rule == "f" {
				require.Equal(t, policy.Block, r.Would)
				noted[e.Author+" "+string(r.Stage)]++
			}
		}
	}
	require.Equal(
		t,
		map[string]int{
			"user input":                 2,
			"bot tool_args":              2,
			"bot tool_result":            1,
			"plugin/guardrail tool_args": 1,
			"bot output":                 1,
			"plugin/guardrail output":    1,
		},
		noted,
	)
}
