package model_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

func TestACloneSharesNothing(t *testing.T) {
	fresh := func() *model.Request {
		return &model.Request{
			Agent: "a", Branch: "a.b", Model: "m", Stream: true,
			Contents: []*genai.Content{
				{
					Role: genai.RoleModel,
					Parts: []*genai.Part{
						{Text: "x", ThoughtSignature: []byte("sig")},
						{
							FunctionCall: &genai.FunctionCall{
								Name: "f",
								Args: map[string]any{"list": []any{1.0}},
							},
						},
					},
				},
			},
			Config: &genai.GenerateContentConfig{
				SystemInstruction: genai.Text("be brief")[0],
				Tools: []*genai.Tool{
					{
						FunctionDeclarations: []*genai.FunctionDeclaration{
							{Name: "f", ParametersJsonSchema: map[string]any{"type": "object"}},
						},
					},
				},
			},
		}
	}
	r := fresh()
	c := r.Clone()
	require.Equal(t, r, c)
	c.Contents[0].Parts[0].ThoughtSignature[0] = 'S'
	c.Contents[0].Parts[1].FunctionCall.Args["list"].([]any)[0] = 2.0
	c.Contents[0].Parts = append(c.Contents[0].Parts[:1], &genai.Part{Text: "more"})
	c.Config.SystemInstruction.Parts[0].Text = "be long"
	c.Config.Tools[0].FunctionDeclarations[0].ParametersJsonSchema.(map[string]any)["type"] = "array"
	require.Equal(t, fresh(), r)
}

func TestErrors(t *testing.T) {
	err := error(&model.Error{Code: "UNAVAILABLE", Status: 503, Err: io.ErrUnexpectedEOF})
	require.EqualError(t, err, "model: UNAVAILABLE: unexpected EOF")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, &model.Error{Code: model.NoAnswer}, "model: NO_ANSWER")
	require.NoError(t, errors.Unwrap(&model.Error{Code: model.NoAnswer}))
}
