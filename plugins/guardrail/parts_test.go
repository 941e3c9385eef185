package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

const token = "ghp_x8Qm2ZtR5vKd9LwY3nBf7HcJ1sPa6E0uGiOj"

// between returns what can stand between two texts that are shown as one.
func between() map[string]*genai.Part {
	return map[string]*genai.Part{
		"signature": {ThoughtSignature: []byte("x")},
		"empty":     {},
		"nil":       nil,
		"metadata":  {PartMetadata: map[string]any{"a": "b"}},
		"picture":   {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")}},
		"call":      {FunctionCall: &genai.FunctionCall{ID: "c", Name: "fetch"}},
		"thought":   {Text: "hm", Thought: true},
	}
}

// kinds are what an event says, and what it thinks.
func kinds(e *session.Event) (said, thought string) {
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			switch {
			case p == nil:
			case p.Thought:
				thought += p.Text
			default:
				said += p.Text
			}
		}
	}
	return said, thought
}

// shownOf offers parts one by one and then as one event, and returns what was shown of them and
// what became of the whole.
func shownOf(
	t require.TestingT,
	p *plugin.Plugin,
	parts ...*genai.Part,
) (said, thought string, whole *session.Event) {
	inv := &session.Invocation{ID: "i", Key: key}
	for _, part := range parts {
		e := says("bot", part)
		e.Partial = true
		out, err := p.OnEvent(ctx, inv, e)
		require.NoError(t, err)
		if out.Withhold {
			continue
		}
		if out.Replace != nil {
			e = out.Replace
		}
		s, th := kinds(e)
		said, thought = said+s, thought+th
	}
	whole, _ = offered(t, p, says("bot", parts...))
	_, err := p.AfterRun(ctx, inv, plugin.End{})
	require.NoError(t, err)
	return said, thought, whole
}

// Texts that are shown as one are judged as one, whatever stands between them, and each keeps what
// is its own.
func TestTextsWithSomethingBetween(t *testing.T) {
	for name, part := range between() {
		for _, window := range []string{"part", "turn", "session"} {
			for _, thought := range []bool{false, true} {
				part := part
				if thought && name == "thought" {
					part = &genai.Part{Text: "hm"}
				}
				p := quiet(t, with(
					t,
					"rules: [{id: s, detect: {secrets: default}, action: redact, window: "+window+"}]",
				))
				parts := []*genai.Part{
					{Text: "so " + token[:18], Thought: thought},
					part,
					{Text: token[18:] + " it is", Thought: thought},
				}
				said, thoughts, whole := shownOf(t, p, parts...)
				shown := said
				if thought {
					shown = thoughts
				}
				require.True(t, strings.HasPrefix("so [SECRET] it is", shown), "%s: %q", name,
					shown)
				got := whole.Content.Parts
				require.Equal(t, "so [SECRET]", got[0].Text, name)
				require.Equal(t, part, got[1], name)
				require.Equal(t, " it is", got[2].Text, name)
			}
		}
	}
}

// An input is judged in the same way, and a block is one.
func TestInputsWithSomethingBetween(t *testing.T) {
	for name, part := range between() {
		if part != nil && part.FunctionCall != nil {
			continue // the runner refuses it in an input
		}
		s := stage(t, with(
			t,
			`rules: [{id: s, stages: [input], detect: {secrets: default}, action: block, message: No.}]`,
		))
		require.Equal(
			t,
			[]string{"plugin/guardrail: No. [DENIED]"},
			s.run(&session.Event{Content: &genai.Content{Role: genai.RoleUser,
				Parts: []*genai.Part{{Text: token[:18]}, part, {Text: token[18:]}}}}),
			name,
		)
	}
}

// A value that begins a text is found there, too, where the text before ends in a letter.
func TestTextsAreReadApartToo(t *testing.T) {
	for name, part := range between() {
		_, _, whole := shownOf(t, quiet(t, guardrail.Config{}), &genai.Part{Text: "id"}, part,
			&genai.Part{Text: "4111111111111111 ("}, part, &genai.Part{Text: "ann@example.com"})
		require.Equal(t, "id", whole.Content.Parts[0].Text, name)
		require.Equal(t, "[CREDIT_CARD] (", whole.Content.Parts[2].Text, name)
		require.Equal(t, "[EMAIL_ADDRESS]", whole.Content.Parts[4].Text, name)
	}
}

// What may begin a value if it is read apart is held back, too.
func TestStreamsAreReadApartToo(t *testing.T) {
	for name, part := range between() {
		said, _, whole := shownOf(t, quiet(t, guardrail.Config{}), &genai.Part{Text: "id"}, part,
			&genai.Part{Text: "4111 1111 "}, &genai.Part{Text: "1111 1111 ("}, part)
		is, _ := kinds(whole)
		require.Equal(t, "id[CREDIT_CARD] (", is, name)
		require.True(t, strings.HasPrefix(is, said), "%s: %q", name, said)
	}
}

// A sound in a stream is shown as it comes, and with it what is settled of the text.
func TestSoundsInStreams(t *testing.T) {
	p := quiet(t, with(t, herons))
	sound := &genai.Part{
		InlineData:   &genai.Blob{MIMEType: "audio/pcm", Data: []byte("x"), DisplayName: "heron"},
		PartMetadata: map[string]any{"a": "heron"},
	}
	rare := &genai.Part{InlineData: &genai.Blob{MIMEType: "audio/x-new", Data: []byte("x")}}
	e := says("bot", sound, &genai.Part{Text: "a heron. "}, rare,
		&genai.Part{InlineData: &genai.Blob{MIMEType: "audio/x-heron", Data: []byte("x")}})
	e.Partial = true
	got, _ := offered(t, p, e)
	heard := &genai.Part{InlineData: &genai.Blob{MIMEType: "audio/pcm", Data: []byte("x")}}
	require.Equal(t, []*genai.Part{heard, rare, {Text: "a [WORD]. "}}, got.Content.Parts)
	require.Equal(t, genai.RoleModel, got.Content.Role)
}

// What is shown of parts in any order is a beginning of what they become.
func TestStreamedPartsEqualWhole(t *testing.T) {
	policies := []*plugin.Plugin{
		quiet(t, guardrail.Config{}),
		quiet(t, with(
			t,
			`rules: [{id: w, window: turn, detect: {words: [aab, 12 a]}, action: hash}, {id: s, window: session, detect: {secrets: default, pii: default}, action: mask}]`,
		)),
		quiet(t, with(
			t,
			`rules: [{id: a, detect: {regexp: {A: 'a+b', B: '\d\d$'}}, action: {A: redact, B: mask}}]`,
		)),
	}
	texts := rapid.SampledFrom([]string{
		"a",
		"b",
		"ab",
		" ",
		"\n",
		"12",
		"4111 1111",
		"4111 1111 1111 1111",
		"ann@exam",
		"ple.com",
		"@",
		token[:9],
		token[9:],
		"aGVyb24gYXQgYW5uQGV4YW1wbGUuY29t",
		"\u200b",
		"\xc3",
		"\xa9",
		"password: ",
		"hunter2hunter2",
	})
	rapid.Check(t, func(r *rapid.T) {
		var parts []*genai.Part
		for range rapid.IntRange(1, 12).Draw(r, "parts") {
			part := &genai.Part{
				Text:    texts.Draw(r, "text"),
				Thought: rapid.IntRange(0, 3).Draw(r, "thought") == 0,
			}
			if rapid.IntRange(0, 2).Draw(r, "other") == 0 {
				part = between()[rapid.SampledFrom([]string{
					"signature",
					"empty",
					"nil",
					"picture",
					"call",
				}).Draw(r, "part")]
			}
			parts = append(parts, part)
		}
		said, thought, whole := shownOf(r, rapid.SampledFrom(policies).Draw(r, "policy"), parts...)
		wholeSaid, wholeThought := kinds(whole)
		require.True(r, strings.HasPrefix(wholeSaid, said), "%q and not %q", wholeSaid, said)
		require.True(r, strings.HasPrefix(wholeThought, thought), "%q and not %q", wholeThought,
			thought)
	})
}

// A model that fails in the middle leaves no beginning of a value, whatever came after it.
func TestBrokenOffBeforeSomethingElse(t *testing.T) {
	for name, part := range between() {
		e := says("bot", &genai.Part{Text: "so " + token[:18]}, part)
		e.ErrorCode = "UNFINISHED"
		got, _ := offered(t, quiet(t, guardrail.Config{}), e)
		require.NotContains(t, inJSON(got), token[:18], name)
	}
}
