package runner_test

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Rule 7: what a hook changes in place is found out behind pointers too.
func TestRule7_ChangedInPlaceBehindPointers(t *testing.T) {
	part := func(p genai.Part) func(*session.Event) {
		return func(e *session.Event) { e.Content.Parts = append(e.Content.Parts, &p) }
	}
	response := func(r genai.FunctionResponse) func(*session.Event) {
		r.Name = "f"
		return part(genai.Part{FunctionResponse: &r})
	}
	raw := func(text string) map[string]jsontext.Value {
		return map[string]jsontext.Value{"x": jsontext.Value(text)}
	}
	last := func(e *session.Event) *genai.Part { return e.Content.Parts[len(e.Content.Parts)-1] }
	for name, c := range map[string]struct {
		has, change func(e *session.Event)
	}{
		"file": {part(genai.Part{FileData: &genai.FileData{FileURI: "gs://a"}}), func(e *session.Event) { last(e).FileData.FileURI = "gs://b" }},
		"code": {part(genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "a"}}), func(e *session.Event) { last(e).ExecutableCode.Code = "b" }},
		"code's result": {part(genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "a"}}),
			func(e *session.Event) { last(e).CodeExecutionResult.Output = "b" }},
		"provider's call": {part(genai.Part{ToolCall: &genai.ToolCall{Args: map[string]any{"a": "a"}}}),
			func(e *session.Event) { last(e).ToolCall.Args["a"] = "b" }},
		"provider's response": {part(genai.Part{ToolResponse: &genai.ToolResponse{Response: map[string]any{"a": "a"}}}),
			func(e *session.Event) { last(e).ToolResponse.Response["a"] = "b" }},
		"transcription": {part(genai.Part{AudioTranscription: &genai.Transcription{Text: "a"}}), func(e *session.Event) { last(e).AudioTranscription.Text = "b" }},
		"type of bytes": {part(genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("a")}}),
			func(e *session.Event) { last(e).InlineData.MIMEType = "text/html" }},
		"other bytes": {part(genai.Part{InlineData: &genai.Blob{Data: []byte("a")}}), func(e *session.Event) { last(e).InlineData.Data = []byte("b") }},
		"part's metadata": {part(genai.Part{Text: "a", PartMetadata: map[string]any{"a": "a"}}),
			func(e *session.Event) { last(e).PartMetadata["a"] = "b" }},
		"new part's metadata": {part(genai.Part{Text: "a"}), func(e *session.Event) { last(e).PartMetadata = map[string]any{"a": "b"} }},
		"video":               {part(genai.Part{Text: "a"}), func(e *session.Event) { last(e).VideoMetadata = &genai.VideoMetadata{} }},
		"response's part": {response(genai.FunctionResponse{Parts: []*genai.FunctionResponsePart{{FileData: &genai.FunctionResponseFileData{FileURI: "a"}}}}),
			func(e *session.Event) { last(e).FunctionResponse.Parts[0].FileData.FileURI = "b" }},
		"response's new file": {response(genai.FunctionResponse{Parts: []*genai.FunctionResponsePart{{}}}),
			func(e *session.Event) {
				last(e).FunctionResponse.Parts[0].FileData = &genai.FunctionResponseFileData{}
			}},
		"response's new bytes": {response(genai.FunctionResponse{Parts: []*genai.FunctionResponsePart{{}}}),
			func(e *session.Event) {
				last(e).FunctionResponse.Parts[0].InlineData = &genai.FunctionResponseBlob{}
			}},
		"response's other bytes": {response(genai.FunctionResponse{Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{Data: []byte("a")}}}}),
			func(e *session.Event) { last(e).FunctionResponse.Parts[0].InlineData.Data = []byte("b") }},
		"response's new part": {response(genai.FunctionResponse{Response: map[string]any{"a": "a"}}),
			func(e *session.Event) { last(e).FunctionResponse.Parts = []*genai.FunctionResponsePart{{}} }},
		"artifact": {func(e *session.Event) { e.Actions.ArtifactDelta = map[string]int64{"a": 1} }, func(e *session.Event) { e.Actions.ArtifactDelta["a"] = 2 }},
		"extra":    {func(e *session.Event) { e.Extra = raw(`"a"`) }, func(e *session.Event) { e.Extra["x"] = jsontext.Value(`"b"`) }},
		"actions' extra": {func(e *session.Event) { e.Actions.Extra = raw(`"a"`) },
			func(e *session.Event) { e.Actions.Extra["x"] = jsontext.Value(`"b"`) }},
		"actions' new extra": {func(*session.Event) {}, func(e *session.Event) { e.Actions.Extra = raw(`"b"`) }},
		"other kit's compaction": {func(e *session.Event) { e.Actions.Compaction = &session.Compaction{Extra: raw(`"a"`)} },
			func(e *session.Event) { e.Actions.Compaction.Extra["x"] = jsontext.Value(`"b"`) }},
	} {
		t.Run(name, func(t *testing.T) {
			bot := does(
				func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
					e := session.Reply("hello")
					c.has(e)
					yield(e, nil)
				},
			)
			_, err := stage(t, bot, on("good", "hello",
				func(*session.Event) plugin.Outcome { return plugin.Outcome{} })).run("hi")
			require.NoError(t, err)
			bad := &plugin.Plugin{
				Name: "bad",
				OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					if e.Author == "bot" {
						c.change(e)
					}
					return plugin.Outcome{}, nil
				},
			}
			s := stage(t, bot, bad)
			_, err = s.run("hi")
			require.ErrorIs(t, err, plugin.ErrInPlace)
			require.Equal(t, []string{"user: hi"}, s.log())
		})
	}
}

// A summary is not changed in place either.
func TestRule7_ChangedInPlaceSummary(t *testing.T) {
	s := stage(
		t,
		says("hello"),
		&plugin.Plugin{
			Name: "compactor",
			BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
				c := &session.Compaction{
					Through:  inv.Position,
					Frontier: inv.Frontier,
					Content:  genai.NewContentFromText("summary", genai.RoleUser),
				}
				return plugin.Outcome{
					Emit: []*session.Event{{Actions: session.Actions{Compaction: c}}},
				}, nil
			},
		},
		&plugin.Plugin{
			Name: "bad",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if c := e.Actions.Compaction; c != nil {
					c.Content.Parts[0].Text = "another one"
				}
				return plugin.Outcome{}, nil
			},
		},
	)
	_, err := s.run("hi")
	require.ErrorIs(t, err, plugin.ErrInPlace)
	require.Equal(t, []string{"user: hi"}, s.log())
}
