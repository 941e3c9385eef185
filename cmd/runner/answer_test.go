package main

import (
	"context"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

func TestQuote(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	for _, word := range []string{"call-1", "", "a b", "it's", `$HOME "x" \ *`, "a\nb", "é"} {
		out, err := exec.CommandContext(context.Background(), sh, "-c", "printf %s "+quote(word)).
			Output()
		require.NoError(t, err)
		require.Equal(t, word, string(out))
	}
	require.Equal(t, "sqlite:desk.db", quote("sqlite:desk.db"))
}

// What the hint says of an answer is taken as it is: words of a choice, yes and no, texts.
func TestAnswersNeedNoQuotes(t *testing.T) {
	type object = map[string]any
	words := object{"enum": []any{"ann", "bob"}}
	for _, tt := range []struct {
		schema     object
		form, text string
		want       any // nil if it is refused
	}{
		{words, "TEXT    (one of: ann, bob)", "ann", "ann"},
		{words, "TEXT    (one of: ann, bob)", `"ann"`, "ann"},
		{object{"type": "string", "enum": []any{"7", "8"}}, "TEXT    (one of: 7, 8)", "7", "7"},
		{object{"enum": []any{"ann", 3.0}}, "JSON    (one of: ann, 3)", "ann", "ann"},
		{object{"enum": []any{"ann", 3.0}}, "JSON    (one of: ann, 3)", "3", 3.0},
		{object{"enum": []any{"ann", 3.0}}, "JSON    (one of: ann, 3)", "eve", nil},
		{object{"type": "boolean"}, "JSON    (yes or no)", "yes", true},
		{object{"type": "string"}, "TEXT", "true", "true"},
		{nil, "JSON", "word", nil},
	} {
		call := &genai.FunctionCall{ID: "q", Name: session.AskTool, Args: object{"response_schema": tt.schema}}
		c := session.Call{FunctionCall: call, Event: &session.Event{}}
		require.Equal(t, tt.form, form(c))
		e, err := (&answers{respond: []string{"q=" + tt.text}}).event([]session.Call{c}, "")
		if tt.want == nil {
			require.ErrorContains(t, err, "is not JSON")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, object{"result": tt.want}, e.FunctionResponses()[0].Response)
	}
}
