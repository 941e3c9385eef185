package guardrail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// A window has what its author has said at the stage, over as many texts as it takes, and nothing
// of others.
func TestWindowsHaveOneAuthorAndStage(t *testing.T) {
	said := func(author string, texts ...string) (list []*session.Event) {
		for _, text := range texts {
			list = append(list, says(author, &genai.Part{Text: text}))
		}
		return list
	}
	answer := func(text string) *genai.Part {
		return &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				Name:     "f",
				Response: map[string]any{"z": text},
			},
		}
	}
	picture := &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")}}
	for name, c := range map[string]struct {
		live  []*session.Event
		parts []*genai.Part
		found bool
	}{
		"its own": {
			said("bot", "it is blue"),
			[]*genai.Part{{Text: "heron"}},
			true,
		},
		"over many": {
			said("bot", "it is", "very", "green"),
			[]*genai.Part{{Text: "cat"}},
			true,
		},
		"of another": {
			said("other", "it is blue"),
			[]*genai.Part{{Text: "heron"}},
			false,
		},
		"another in between": {
			append(said("bot", "it is blue"), said("other", "a cat")...),
			[]*genai.Part{{Text: "heron"}},
			true,
		},
		"at another stage": {
			nil,
			[]*genai.Part{
				{Text: "it is very blue"},
				{FunctionCall: call("fetch", map[string]any{"a": []any{"heron"}})},
			},
			false,
		},
		"at another stage before": {
			[]*session.Event{
				says("bot", &genai.Part{
					FunctionCall: call("fetch", map[string]any{"a": "very blue"}),
				}),
			},
			[]*genai.Part{{Text: "heron"}},
			false,
		},
		"in its own event": {
			nil,
			[]*genai.Part{{Text: "it is very blue"}, picture, {Text: "heron"}},
			true,
		},
		"a file's type": {
			said("bot", "it is blue"),
			[]*genai.Part{{InlineData: &genai.Blob{MIMEType: "heron", Data: []byte{0}}}},
			false,
		},
		"thought and said": {
			[]*session.Event{says("bot", &genai.Part{Text: "it is blue", Thought: true})},
			[]*genai.Part{{Text: "heron"}},
			false,
		},
		"thought": {
			[]*session.Event{says("bot", &genai.Part{Text: "it is blue", Thought: true})},
			[]*genai.Part{{Text: "heron", Thought: true}},
			true,
		},
		"answered": {
			[]*session.Event{says("bot", answer("it is blue"))},
			[]*genai.Part{
				{
					FunctionResponse: &genai.FunctionResponse{
						Name:     "f",
						Response: map[string]any{"z": []any{"x"}, "heron": "x"},
					},
				},
			},
			true,
		},
		"answered at once": {
			nil,
			[]*genai.Part{
				answer("it is blue"),
				{
					FunctionResponse: &genai.FunctionResponse{
						Name:     "g",
						Response: map[string]any{"heron": "x"},
					},
				},
			},
			true,
		},
		"answered between calls": {
			nil,
			[]*genai.Part{
				{FunctionCall: call("fetch", map[string]any{"z": "x"})},
				answer("it is blue"),
				{FunctionCall: call("fetch", map[string]any{"heron": "x"})},
			},
			false,
		},
		"called before a call": {
			nil,
			[]*genai.Part{
				{FunctionCall: call("fetch", map[string]any{"z": "it is blue"})},
				answer("x"),
				{FunctionCall: call("fetch", map[string]any{"heron": "x"})},
			},
			true,
		},
		"after a file's text": {
			[]*session.Event{
				says("bot", &genai.Part{
					InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte("it is blue")},
				}),
			},
			[]*genai.Part{{Text: "heron"}},
			false,
		},
		"after code": {
			nil,
			[]*genai.Part{
				{ExecutableCode: &genai.ExecutableCode{Code: "it is blue"}},
				{InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte("heron")}},
			},
			false,
		},
		"after a key": {
			nil,
			[]*genai.Part{
				answer(""),
				{
					FunctionResponse: &genai.FunctionResponse{
						Name:     "g",
						Response: map[string]any{"a blue": "", "heron": 1},
					},
				},
			},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := quiet(t, with(
				t,
				`rules: [{id: r, stages: [output, tool_args, tool_result], window: session, detect: {words: [blue heron, is very green cat, 'blue a: heron']}, action: flag}]`,
			))
			out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key, Live: c.live},
				says("bot", c.parts...))
			require.NoError(t, err)
			require.Equal(t, c.found, out.Replace != nil)
		})
	}
}

// A turn begins with its run, a session before.
func TestWindowsBegin(t *testing.T) {
	for window, found := range map[string]map[string]bool{
		"part":    {},
		"turn":    {"i": true},
		"session": {"i": true, "earlier": true},
	} {
		p := quiet(t, with(t, fmt.Sprintf(
			`rules: [{id: r, window: %s, detect: {words: [blue heron]}, action: flag}]`, window)))
		for _, run := range []string{"i", "earlier"} {
			before := says("bot", &genai.Part{Text: "it is blue"})
			before.InvocationID = run
			out, err := p.OnEvent(ctx,
				&session.Invocation{ID: "i", Key: key, Live: []*session.Event{before}},
				says("bot", &genai.Part{Text: "heron"}))
			require.NoError(t, err)
			require.Equal(t, found[run], out.Replace != nil, "%s: %s", window, run)
		}
	}
}

// What an event says before the first text that a rule is about is in the rule's window, and
// nothing else of it.
func TestWindowsOfRulesThatComeLate(t *testing.T) {
	for name, c := range map[string]struct {
		first *genai.Part
		found bool
	}{
		"a call of another tool": {
			&genai.Part{FunctionCall: call("fetch", map[string]any{"a": "4111 1111"})},
			true,
		},
		"what is said": {&genai.Part{Text: "4111 1111"}, false},
		"an answer": {
			&genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					Name:     "fetch",
					Response: map[string]any{"a": "4111 1111"},
				},
			},
			false,
		},
	} {
		p := quiet(t, with(
			t,
			`rules: [{id: r, stages: [tool_args], scope: {tool: send}, window: turn, detect: {pii: [CREDIT_CARD]}, action: flag}]`,
		))
		_, out := offered(t, p, says("bot", c.first,
			&genai.Part{FunctionCall: call("send", map[string]any{"1111 1111": "x"})}))
		require.Equal(t, c.found, out.Replace != nil, name)
	}
}

// A window reaches far enough for the longest value that there is, a private key, over however many
// texts.
func TestWindowsReach(t *testing.T) {
	p := quiet(t,
		with(t, `rules: [{id: r, window: session, detect: {secrets: default}, action: flag}]`))
	line := "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgwMbRvI0MBZhpI\n"
	for _, texts := range []int{1, 3, 40} {
		live := []*session.Event{
			says("bot", &genai.Part{Text: "-----BEGIN RSA PRIVATE KEY-----\n"}),
		}
		for range texts {
			live = append(live, says("bot", &genai.Part{Text: strings.Repeat(line, 120/texts)}))
		}
		out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key, Live: live},
			says("bot", &genai.Part{Text: line + "-----END RSA PRIVATE KEY-----\n"}))
		require.NoError(t, err)
		require.NotNil(t, out.Replace, "%d texts", texts)
	}
}

// A value that is spread over texts, with a space between them or none, is found in a window; so is
// one over parts.
func TestValuesSpreadOverTexts(t *testing.T) {
	const rules = `rules: [{id: r, stages: [input], window: session, detect: {pii: [CREDIT_CARD]}, action: block, message: No cards.}]`
	for _, c := range [][2]string{
		{"4111 1111", "1111 1111"},
		{"4111 1111 11", "11 1111"},
		{"411111111", "1111111"},
		{"4111-1111-1111-", "1111"},
	} {
		s := stage(t, with(t, rules), "yes")
		require.Equal(t,
			[]string{"user: it is " + c[0], "bot: yes", "plugin/guardrail: No cards. [DENIED]"},
			append(s.run("it is "+c[0]), s.run(c[1])...))

		s = stage(t, with(t, rules), "yes")
		require.Equal(
			t,
			[]string{"plugin/guardrail: No cards. [DENIED]"},
			s.run(&session.Event{Content: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
				{
					Text: "it is " + c[0],
				}, {
					InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")},
				}, {Text: c[1]}}}}),
		)
	}
}

// A window in a stream is that of the whole: what is not text parts nothing, and a finding counts
// once.
func TestWindowsOfStreams(t *testing.T) {
	sound := &genai.Part{InlineData: &genai.Blob{MIMEType: "audio/pcm", Data: []byte("x")}}
	p := quiet(t, with(
		t,
		`rules: [{id: r, stages: [output], window: turn, detect: {words: [blue heron]}, action: redact}]`,
	))
	shown := ""
	for _, part := range []*genai.Part{
		{Text: "a blue "},
		sound,
		{Text: "her"},
		{Text: "on."},
		sound,
	} {
		e := says("bot", part)
		e.Partial = true
		if got, out := offered(t, p, e); !out.Withhold {
			shown += got.Text()
		}
	}
	got, _ := offered(t, p,
		says("bot", &genai.Part{Text: "a blue "}, sound, &genai.Part{Text: "heron."}, sound))
	require.Equal(t, "a [WORD].", got.Text())
	require.Equal(t, got.Text(), shown)
	n, _ := guardrail.NoteOf(got)
	require.Equal(t, 1, n.Records[0].Count)
}
