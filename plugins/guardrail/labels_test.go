package guardrail_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// What programs have words for is judged, too: nothing of a secret in it is left.
func TestLabels(t *testing.T) {
	part := func(p *genai.Part) *session.Event { return says("bot", &genai.Part{Text: "x"}, p) }
	input := func(change func(*session.Event)) *session.Event {
		e := says(session.User, &genai.Part{Text: "x"})
		change(e)
		return e
	}
	read := func(text string) *session.Event {
		e := &session.Event{}
		require.NoError(t, e.UnmarshalJSON([]byte(text)))
		e.Author = session.User
		return e
	}
	for name, e := range map[string]*session.Event{
		"picture's type":        part(&genai.Part{InlineData: &genai.Blob{MIMEType: "image/" + token, Data: []byte("x")}}),
		"text's type":           part(&genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain; x=" + token, Data: []byte("x")}}),
		"link's type":           part(&genai.Part{FileData: &genai.FileData{MIMEType: token, FileURI: "gs://a"}}),
		"answer's file's type":  part(&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "fetch", Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: token, Data: []byte("x")}}}}}),
		"language":              part(&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "1", Language: genai.Language(token)}}),
		"outcome":               part(&genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "1", Outcome: genai.Outcome(token)}}),
		"provider's tool":       part(&genai.Part{ToolCall: &genai.ToolCall{ToolType: genai.ToolType(token)}}),
		"provider's answer":     part(&genai.Part{ToolResponse: &genai.ToolResponse{ToolType: genai.ToolType(token)}}),
		"call without tools":    part(&genai.Part{FunctionCall: &genai.FunctionCall{Name: token}}),
		"transcription's words": part(&genai.Part{AudioTranscription: &genai.Transcription{Text: "see what I said", Words: []*genai.WordInfo{{Word: "it"}, {Word: token}}}}),
		"transcription":         part(&genai.Part{AudioTranscription: &genai.Transcription{Text: "it is " + token, Words: []*genai.WordInfo{{Word: "it"}, {Word: "is"}, {Word: token}}}}),
		"who was heard":         part(&genai.Part{AudioTranscription: &genai.Transcription{Text: "hi", SpeakerLabel: token}}),
		"error code":            {ID: "e", Author: "bot", ErrorCode: token},
		"finish reason":         {ID: "e", Author: "bot", FinishReason: genai.FinishReason(token)},
		"role": {
			ID:      "e",
			Author:  "bot",
			Content: &genai.Content{Role: token, Parts: []*genai.Part{{Text: "x"}}},
		},
		"input's model":    input(func(e *session.Event) { e.ModelVersion = token }),
		"input's transfer": input(func(e *session.Event) { e.Actions.TransferToAgent = token }),
		"input's call":     input(func(e *session.Event) { e.Content.Parts[0].FunctionCall = &genai.FunctionCall{Name: token} }),
		"input's answer": input(func(e *session.Event) {
			e.Content.Parts[0].FunctionResponse = &genai.FunctionResponse{
				Name:     token,
				Response: map[string]any{"a": "b"},
			}
		}),
		"unknown key":          read(`{"` + token + `":1}`),
		"unknown action":       read(`{"actions":{"` + token + `":1}}`),
		"unknown key's value":  read(`{"api_key":"` + token[4:] + `"}`),
		"unknown key in parts": read(`{"content":{"parts":[{"text":"x","` + token + `":1}]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			got, out := offered(
				t,
				quiet(t, with(
					t,
					"rules: [{id: s, detect: {secrets: default}, action: redact}, {id: t, stages: [tool_args], trust: untrusted, detect: {words: [x]}, action: flag}]",
				)),
				e,
			)
			require.NotContains(t, inJSON(got)+inJSON(out), token[4:])
			_, noted := guardrail.NoteOf(got)
			require.True(t, noted)
		})
	}
}

// The usual labels are no texts: rules about texts as wholes and words are not about them.
func TestUsualLabels(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: w, detect: {words: [stop, model, png, ok, python, image]}, action: block}, {id: t, when: 'not (text contains "heron")', action: block}]`,
	))
	e := says("bot", &genai.Part{Text: "a heron"})
	e.FinishReason, e.ModelVersion = genai.FinishReasonStop, "model-1"
	e.Content.Parts = append(e.Content.Parts,
		&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")}})
	_, out := offered(t, p, e)
	require.True(t, out.IsZero())
	e.Content.Parts[1].InlineData.MIMEType = "image/x-photo-1"
	_, out = offered(t,
		quiet(t, with(t, `rules: [{id: t, when: 'not (text contains "heron")', action: block}]`)),
		e)
	require.True(t, out.IsZero(), "no rule about texts as wholes is about a label")
}

// A picture in a stream with a type that hides something is not shown, nor is what else a partial
// event says.
func TestLabelsOfStreams(t *testing.T) {
	for name, change := range map[string]func(*session.Event){
		"type": func(e *session.Event) {
			e.Content.Parts[0] = &genai.Part{
				InlineData: &genai.Blob{MIMEType: "image/" + token, Data: []byte("x")},
			}
		},
		"role":     func(e *session.Event) { e.Content.Role = token },
		"code":     func(e *session.Event) { e.ErrorCode = token },
		"reason":   func(e *session.Event) { e.FinishReason = genai.FinishReason(token) },
		"message":  func(e *session.Event) { e.ErrorMessage = token },
		"metadata": func(e *session.Event) { e.CustomMetadata = map[string]any{"a": token} },
		"unknown":  func(e *session.Event) { e.Extra = map[string]jsontext.Value{"a": jsontext.Value(`"` + token + `"`)} },
		"state":    func(e *session.Event) { e.Actions.StateDelta = map[string]any{"a": token} },
		"grounding": func(e *session.Event) {
			e.GroundingMetadata = &genai.GroundingMetadata{WebSearchQueries: []string{token}}
		},
		"citations": func(e *session.Event) {
			e.CitationMetadata = &genai.CitationMetadata{
				Citations: []*genai.Citation{{Title: token}},
			}
		},
		"part's metadata": func(e *session.Event) { e.Content.Parts[0].PartMetadata = map[string]any{"a": token} },
		"another part": func(e *session.Event) {
			e.Content.Parts = append(e.Content.Parts, &genai.Part{
				FunctionCall: &genai.FunctionCall{Name: token},
			})
		},
	} {
		e := says("bot", &genai.Part{Text: "a cat. "})
		e.Partial = true
		change(e)
		got, out := offered(t, quiet(t, guardrail.Config{}), e)
		require.True(t, out.Withhold || out.Replace != nil, name)
		if !out.Withhold {
			require.NotContains(t, fmt.Sprint(inJSON(got)), token[4:], name)
		}
	}
}

// A role that hides something goes altogether: no model takes another.
func TestRolesThatHide(t *testing.T) {
	e := says("bot", &genai.Part{Text: "x"})
	e.Content.Role = "a heron"
	got, _ := offered(t, quiet(t, with(t, herons)), e)
	require.Empty(t, got.Content.Role)
}
