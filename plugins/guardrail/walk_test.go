package guardrail_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// Wherever in an event a text can be, it is looked at, and only it is changed.
func TestEveryPlaceOfATextIsLookedAt(t *testing.T) {
	part := func(p *genai.Part) *session.Event { return says("bot", p) }
	answer := func(r *genai.FunctionResponse) *session.Event {
		return part(&genai.Part{
			FunctionResponse: r,
		})
	}
	event := func(author string, change func(*session.Event)) *session.Event {
		e := says(author, &genai.Part{Text: "x"})
		change(e)
		return e
	}
	for name, e := range map[string]*session.Event{
		"what a provider's tool is called with": part(&genai.Part{ToolCall: &genai.ToolCall{ToolType: "URL_CONTEXT", Args: map[string]any{"a": "heron"}}}),
		"what a provider's tool answers":        part(&genai.Part{ToolResponse: &genai.ToolResponse{ToolType: "URL_CONTEXT", Response: map[string]any{"a": "heron"}}}),
		"pieces of arguments":                   part(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "send", PartialArgs: []*genai.PartialArg{nil, {JsonPath: "$.n"}, {JsonPath: "$.a", StringValue: "heron"}}}}),
		"where pieces go":                       part(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "send", PartialArgs: []*genai.PartialArg{{JsonPath: "$.heron"}}}}),
		"metadata of a part":                    part(&genai.Part{Text: "x", PartMetadata: map[string]any{"a": "heron"}}),
		"a list of Go's":                        answer(&genai.FunctionResponse{Name: "f", Response: map[string]any{"a": []string{"x", "heron"}}}),
		"a map of Go's":                         answer(&genai.FunctionResponse{Name: "f", Response: map[string]any{"a": []map[string]string{{"b": "heron"}}}}),
		"a key in a list":                       answer(&genai.FunctionResponse{Name: "f", Response: map[string]any{"a": []any{map[string]any{"heron": 1.5}}}}),
		"JSON as it was written":                answer(&genai.FunctionResponse{Name: "f", Response: map[string]any{"a": json.RawMessage(`{"b":"heron"}`)}}),
		"name of an answer's file":              answer(&genai.FunctionResponse{Name: "f", Parts: []*genai.FunctionResponsePart{nil, {InlineData: &genai.FunctionResponseBlob{DisplayName: "heron", MIMEType: "image/png", Data: []byte("x")}}}}),
		"name of an answer's link":              answer(&genai.FunctionResponse{Name: "f", Parts: []*genai.FunctionResponsePart{{FileData: &genai.FunctionResponseFileData{DisplayName: "heron", FileURI: "gs://a"}}}}),
		"type of an answer's link":              answer(&genai.FunctionResponse{Name: "f", Parts: []*genai.FunctionResponsePart{{FileData: &genai.FunctionResponseFileData{MIMEType: "image/x heron", FileURI: "gs://a"}}}}),
		"citations": event("bot", func(e *session.Event) {
			e.CitationMetadata = &genai.CitationMetadata{
				Citations: []*genai.Citation{{Title: "a heron"}},
			}
		}),
		"error message":          event("bot", func(e *session.Event) { e.ErrorMessage = "heron" }),
		"state":                  event("bot", func(e *session.Event) { e.Actions.StateDelta = map[string]any{"a": "heron"} }),
		"metadata":               event("bot", func(e *session.Event) { e.CustomMetadata = map[string]any{"a": "heron"} }),
		"a question's hint":      event("bot", func(e *session.Event) { confirm(e, session.Confirmation{Hint: "heron"}) }),
		"a question's payload":   event("bot", func(e *session.Event) { confirm(e, session.Confirmation{Payload: map[string]any{"a": "heron"}}) }),
		"a transcription":        part(&genai.Part{AudioTranscription: &genai.Transcription{Text: "a heron", Words: []*genai.WordInfo{nil, {Word: "a"}, {Word: "heron"}}}}),
		"who answers a question": event(session.User, func(e *session.Event) { e.Content.Parts[0].FunctionResponse = &genai.FunctionResponse{Name: "heron"} }),
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, inJSON(e), "heron")
			got, out := offered(t, quiet(t, with(t, herons)), e)
			require.NotContains(t, inJSON(got), "heron")
			require.False(t, out.Stop)

			// A rule that another word is for leaves it as it is.
			_, out = offered(t,
				quiet(t, with(t, `rules: [{id: r, detect: {words: [egret]}, action: redact}]`)), e)
			require.True(t, out.IsZero())
		})
	}
}

func confirm(e *session.Event, c session.Confirmation) {
	e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"c": c}
}

// A number of less than nine digits, with a fraction, or beyond what is an exact one is no text.
func TestNumbersThatAreNoTexts(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {regexp: {D: '\d{4,}'}}, action: redact}]`))
	for _, number := range []any{
		12345678,
		int64(12345678),
		12345678.0,
		json.Number("12345678"),
		123456789.5,
		1e21,
	} {
		_, out := offered(t, p, says("bot", &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				Name:     "f",
				Response: map[string]any{"n": number},
			},
		}))
		require.True(t, out.IsZero(), "%T %v", number, number)
	}
	got, _ := offered(t, p, says("bot", &genai.Part{
		FunctionResponse: &genai.FunctionResponse{
			Name:     "f",
			Response: map[string]any{"n": json.Number("1234567890123456789012")},
		},
	}))
	require.Equal(t, map[string]any{"n": "[D]"}, got.FunctionResponses()[0].Response)
}

// What the runner notes on an event is nobody's text, and stays where the rest is changed.
func TestRunnersNotesStay(t *testing.T) {
	e := says("bot", &genai.Part{Text: "x"})
	e.CustomMetadata = map[string]any{session.NotesKey: map[string]any{"a": "heron"}, "b": "heron"}
	got, _ := offered(t, quiet(t, with(t, herons)), e)
	require.Equal(t, e.CustomMetadata[session.NotesKey], got.CustomMetadata[session.NotesKey])
	require.Equal(t, "[WORD]", got.CustomMetadata["b"])
	n, _ := guardrail.NoteOf(got)
	require.Equal(t, 1, n.Records[0].Count)
}

// A name that a user gives to an answer is a text if nobody has called such a tool, and a tool's
// name if somebody has.
func TestNamesInUsersAnswers(t *testing.T) {
	p := quiet(t, with(t, herons))
	for name, c := range map[string]struct {
		author, called string
		found          bool
	}{
		"of no call":        {session.User, "", true},
		"of another's call": {session.User, "fetch", true},
		"of a call":         {session.User, "heron", false},
		"not a user's":      {"bot", "", false},
	} {
		inv := &session.Invocation{ID: "i", Key: key}
		if c.called != "" {
			inv.Live = []*session.Event{
				says("bot", &genai.Part{Text: "x"}),
				says("bot", &genai.Part{FunctionCall: call(c.called, nil)}),
			}
		}
		out, err := p.OnEvent(ctx, inv, says(c.author, &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				Name:     "heron",
				Response: map[string]any{"a": "b"},
			},
		}))
		require.NoError(t, err)
		require.Equal(t, c.found, out.Replace != nil, name)
	}
}

// A condition on arguments is about those of the call that is answered: of its name and its id, the
// latest.
func TestArgumentsOfWhatIsAnswered(t *testing.T) {
	p := quiet(t, with(t,
		`rules: [{id: r, stages: [tool_result], when: 'tool.args.a == "secret"', action: flag}]`))
	called := func(id, name, a string) *session.Event {
		return says("bot", &genai.Part{
			FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: map[string]any{"a": a}},
		})
	}
	for name, c := range map[string]struct {
		live  []*session.Event
		found bool
	}{
		"its own":   {[]*session.Event{called("1", "f", "secret")}, true},
		"another's": {[]*session.Event{called("1", "f", "open")}, false},
		"of another id": {
			[]*session.Event{called("1", "f", "open"), called("2", "f", "secret")},
			false,
		},
		"of another name": {
			[]*session.Event{called("1", "f", "open"), called("1", "g", "secret")},
			false,
		},
		"an earlier one": {
			[]*session.Event{called("1", "f", "secret"), called("1", "f", "open")},
			false,
		},
		"the latest of all": {
			[]*session.Event{called("1", "f", "open"), called("1", "f", "secret")},
			true,
		},
	} {
		out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key, Live: c.live}, says(
			"bot",
			&genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					ID:       "1",
					Name:     "f",
					Response: map[string]any{"x": "y"},
				},
			},
		))
		require.NoError(t, err)
		require.Equal(t, c.found, out.Replace != nil, name)
	}
}

// A name that the model made up is a text; that of a tool is not.
func TestNamesThatAreMadeUp(t *testing.T) {
	const rules = `rules: [{id: r, stages: [tool_args], detect: {words: [heron, send]}, action: redact}]`
	s := stage(t, with(t, rules),
		&genai.FunctionCall{ID: "1", Name: "heron", Args: map[string]any{"a": "x"}},
		call("send", map[string]any{"to": "a@b"}), "done")
	require.Equal(
		t,
		[]string{
			"user: 1",
			`bot: WORD{"a":"x"}`,
			`plugin/guardrail: WORD={"error":"not executed: the policy's rule r takes out the name of the function or of an argument; use other names"} [DENIED]`,
			`bot: send{"to":"a@b"}`,
			`bot: send={"ok":true}`,
			"bot: done",
		},
		s.run("1"),
	)
	require.NotContains(t, s.stored()+s.log.String(), "heron")
}
