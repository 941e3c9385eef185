package guardrail_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

const herons = `rules: [{id: r, detect: {words: [heron]}, action: redact}]`

// A number of nine digits is the shortest that is looked at: a social security number without its dashes.
func TestNumbersOfNineDigits(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {pii: [US_SSN]}, action: redact}]`))
	for _, number := range []any{536904399, int64(536904399), 536904399.0} {
		got, _ := offered(t, p, says("bot", &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Response: map[string]any{"ssn": number}}}))
		require.Equal(t, map[string]any{"ssn": "[US_SSN]"}, got.FunctionResponses()[0].Response, "%T", number)
	}
}

// A call with a key that was taken out is denied, whatever else of it was.
func TestKeyAndValueTakenOut(t *testing.T) {
	p := quiet(t, with(t, herons))
	for _, args := range []map[string]any{{"heron": "x"}, {"heron": "a heron"}, {"heron": 1, "z": "a heron"}, {"a": "a heron", "heron": 1}} {
		_, out := offered(t, p, says("bot", &genai.Part{FunctionCall: call("fetch", args)}))
		require.Len(t, out.Emit, 1, "%v", args)
		require.Contains(t, inJSON(out.Emit[0]), "takes out the name of the function or of an argument", "%v", args)
	}
}

// Keys that become the same stay apart.
func TestKeysThatBecomeTheSame(t *testing.T) {
	p := quiet(t, with(t, herons))
	for _, c := range []struct{ was, want map[string]any }{
		{map[string]any{"heron": 1, "Heron": 2, "HERON": 3}, map[string]any{"[WORD]": 3, "[WORD] 2": 2, "[WORD] 3": 1}},
		{map[string]any{"heron": 1, "[WORD]": 2}, map[string]any{"[WORD]": 2, "[WORD] 2": 1}},
	} {
		got, _ := offered(t, p, says("bot", &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Response: c.was}}))
		require.Equal(t, c.want, got.FunctionResponses()[0].Response)
	}
}

// Which command would run is not to be seen: a human is asked, or what other says if that is stricter.
func TestCommandsThatAreNotSeen(t *testing.T) {
	for other, want := range map[string]policy.Action{"allow": "ask", "ask": "ask", "block": "block"} {
		p := parse(t, `rules: [{id: t, stages: [tool_args], tools: {deny: ["shell(rm *)"], other: `+other+`}}]`)
		for _, args := range []map[string]any{nil, {"n": 1}, {"a": "ls", "b": "ls"}, {"command": []any{1}}} {
			require.Equal(t, want, p.Judge(policy.ToolArgs, policy.Scope{Tool: "shell", Args: args}, "").Action, "%s: %v", other, args)
		}
	}
}

// The bytes at a file's beginning say how it is written, whichever end comes first.
func TestUTF16OfEitherEnd(t *testing.T) {
	p := quiet(t, with(t, herons))
	for name, write := range map[string]func(u uint16) []byte{
		"little": func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} },
		"big":    func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} },
	} {
		var data []byte
		for _, u := range utf16.Encode([]rune("\ufeffä heron")) {
			data = append(data, write(u)...)
		}
		got, _ := offered(t, p, says("bot", &genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: data}}))
		require.Equal(t, "ä [WORD]", string(got.Content.Parts[0].InlineData.Data), name)
	}
}

// Sources that are clean by themselves go with a text that was edited, and stay with one that was not.
func TestCleanSources(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {words: [heron]}, action: redact}, {id: f, detect: {words: [cat]}, action: flag}]`))
	for text, kept := range map[string]bool{"a heron": false, "a cat": true} {
		e := says("bot", &genai.Part{Text: text})
		e.GroundingMetadata = &genai.GroundingMetadata{WebSearchQueries: []string{"birds"}}
		e.CitationMetadata = &genai.CitationMetadata{Citations: []*genai.Citation{{Title: "birds"}}}
		got, out := offered(t, p, e)
		require.NotNil(t, out.Replace)
		require.Equal(t, kept, got.GroundingMetadata != nil, text)
		require.Equal(t, kept, got.CitationMetadata != nil, text)
	}
}

// What is not known here goes from an event with a value that is too deep, as from one that was edited.
func TestUnknownKeysOfADeepEvent(t *testing.T) {
	var deep any = "x"
	for range 1100 {
		deep = []any{deep}
	}
	p := quiet(t, with(t, herons))
	for value, kept := range map[string]bool{"deep": false, "flat": true} {
		e := says("bot", &genai.Part{Text: "a cat"})
		e.Extra = map[string]jsontext.Value{"new": jsontext.Value(`"x"`)}
		e.Actions.StateDelta = map[string]any{"k": map[string]any{"deep": deep, "flat": "x"}[value]}
		got, _ := offered(t, p, e)
		require.Equal(t, kept, got.Extra != nil, value)
		require.Equal(t, kept, !strings.Contains(inJSON(got.Actions.StateDelta), "TOO DEEP"), value)
	}
}

// A text as long as max_bytes is judged; a longer one is not.
func TestLongestText(t *testing.T) {
	p := parse(t, "limits: {max_bytes: 5}\n"+herons)
	require.Equal(t, "[WORD]", p.Judge(policy.Input, policy.Scope{}, "heron").Text)
	require.Equal(t, "limits.max_bytes", p.Judge(policy.Input, policy.Scope{}, "heron.").Rule)
	v := parse(t, "limits: {max_bytes: 5, over_limit: flag}\n"+herons).Judge(policy.Input, policy.Scope{}, "heron.")
	require.Equal(t, policy.Flag, v.Action)
	require.Len(t, v.Findings, 1, "it is not looked into")
}

// A policy may have a rule of the same thing in each window.
func TestWindowsAreRulesOfTheirOwn(t *testing.T) {
	parse(t, `rules: [{id: a, detect: {secrets: default}, action: block}, {id: b, window: turn, detect: {secrets: default}, action: block}, {id: c, window: session, detect: {secrets: default}, action: flag}]`)
}

// A tool is once in the list of what a session has seen.
func TestTaintIsASet(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, stages: [output], trust: untrusted, action: flag}]`))
	answer := func(name string) *genai.Part {
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: name, Response: map[string]any{"a": "b"}}}
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

// What was clean in one request is looked at again where it stands elsewhere, or in a session that has seen more.
func TestPromptsAreJudgedWhereTheyStand(t *testing.T) {
	content := func(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleUser) }
	for name, c := range map[string]struct {
		rule   string
		first  []*genai.Content
		second []*genai.Content
		taint  bool
		want   string
	}{
		"in a session that has seen more": {`trust: untrusted, detect: {words: [heron]}, action: redact`, []*genai.Content{content("a heron")}, []*genai.Content{content("a heron")}, true, "a [WORD]"},
		"after another text":              {`window: turn, detect: {words: [blue heron]}, action: redact`, []*genai.Content{content("heron")}, []*genai.Content{content("it is blue"), content("heron")}, false, "[WORD]"},
	} {
		t.Run(name, func(t *testing.T) {
			p := quiet(t, with(t, `rules: [{id: r, stages: [prompt], `+c.rule+`}]`))
			inv := &session.Invocation{ID: "i", Key: key, State: map[string]any{}}
			ask := func(contents []*genai.Content) string {
				req := &model.Request{Agent: "bot", Contents: contents}
				_, err := p.BeforeModel(ctx, inv, req)
				require.NoError(t, err)
				last := req.Contents[len(req.Contents)-1]
				return last.Parts[0].Text
			}
			require.Equal(t, c.first[0].Parts[0].Text, ask(c.first))
			if c.taint {
				inv.State["guardrail:taint"] = []any{"web"}
			}
			require.Equal(t, c.want, ask(c.second))
			_, err := p.AfterRun(ctx, inv, plugin.End{})
			require.NoError(t, err)
		})
	}
}

// Arguments that were wrong before they were edited are the tool's to refuse: the policy is not to blame.
func TestArgumentsThatNeverFit(t *testing.T) {
	for name, c := range map[string]struct {
		args   map[string]any
		denied bool
	}{
		"wrong before":   {map[string]any{"text": "a heron"}, false},
		"right before":   {map[string]any{"to": "a@b", "text": "a heron"}, false},
		"wrong by it":    {map[string]any{"to": "ann@example.com"}, true},
		"wrong for both": {map[string]any{"to": 1, "text": "ann@example.com"}, false},
	} {
		s := stage(t, with(t, `rules: [{id: r, stages: [tool_args], detect: {words: [heron], pii: [EMAIL_ADDRESS]}, action: redact}]`), call("send", c.args), "done")
		lines := strings.Join(s.run("1"), "\n")
		require.Equal(t, c.denied, strings.Contains(lines, "the policy's rule"), "%s: %s", name, lines)
	}
}

// What a rule allows of what it finds is no finding.
func TestTypesThatAreAllowed(t *testing.T) {
	v := parse(t, `rules: [{id: r, detect: {pii: [EMAIL_ADDRESS, CREDIT_CARD]}, action: {EMAIL_ADDRESS: allow, "*": redact}}]`).Judge(policy.Input, policy.Scope{}, "ann@example.com 4111 1111 1111 1111")
	require.Equal(t, "ann@example.com [CREDIT_CARD]", v.Text)
	require.Len(t, v.Findings, 1)
}

// An answer of a tool is untrusted unless the tool is, whatever the session has read; anything else by what it has.
func TestWhatIsUntrusted(t *testing.T) {
	p := parse(t, `{trusted_tools: [mine], rules: [{id: r, trust: untrusted, detect: {words: [heron]}, action: redact}]}`)
	for _, c := range []struct {
		stage policy.Stage
		tool  string
		taint []string
		found bool
	}{
		{policy.ToolResult, "web", nil, true}, {policy.ToolResult, "mine", nil, false}, {policy.ToolResult, "mine", []string{"web"}, false},
		{policy.Output, "", nil, false}, {policy.Output, "", []string{"web"}, true}, {policy.ToolArgs, "mine", []string{"web"}, true}, {policy.Summary, "", []string{"web"}, true},
		{policy.Input, "", []string{"web"}, false},
	} {
		v := p.Judge(c.stage, policy.Scope{Tool: c.tool, Taint: c.taint}, "a heron")
		require.Equal(t, c.found, v.Action == policy.Redact, "%+v", c)
	}
}

// An input is no agent's, and its author is no agent's name.
func TestInputsAreNoAgents(t *testing.T) {
	for _, agent := range []string{"user", "'?*'"} {
		p := quiet(t, with(t, `rules: [{id: r, scope: {agent: `+agent+`}, detect: {words: [heron]}, action: redact}]`))
		_, out := offered(t, p, input("a heron"))
		require.True(t, out.IsZero(), agent)
	}
}

// A record is of one rule at one stage, and counts what was found there.
func TestRecordsAreOfOneStage(t *testing.T) {
	got, _ := offered(t, quiet(t, with(t, herons)), says("bot", &genai.Part{Text: "a heron and a heron"}, &genai.Part{FunctionCall: call("fetch", map[string]any{"a": "heron"})}))
	n, _ := guardrail.NoteOf(got)
	counts := map[policy.Stage]int{}
	for _, r := range n.Records {
		counts[r.Stage] += r.Count
	}
	require.Equal(t, map[policy.Stage]int{policy.Output: 2, policy.ToolArgs: 1}, counts)
	require.Len(t, n.Records, 2)
}

// A role that hides something goes altogether: no model takes another.
func TestRolesThatHide(t *testing.T) {
	e := says("bot", &genai.Part{Text: "x"})
	e.Content.Role = "a heron"
	got, _ := offered(t, quiet(t, with(t, herons)), e)
	require.Empty(t, got.Content.Role)
}

// What a rule about a text as a whole says of it: that it is too long, or that it is there.
func TestTypesOfWholeTexts(t *testing.T) {
	for rule, want := range map[string]string{"detect: {length: {bytes: 3}}": "LENGTH", `when: 'text contains "h"'`: "TEXT"} {
		v := parse(t, `rules: [{id: r, `+rule+`, action: flag}]`).Judge(policy.Input, policy.Scope{}, "a heron")
		require.Len(t, v.Findings, 1)
		require.Equal(t, want, v.Findings[0].Type)
	}
}
