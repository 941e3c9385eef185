package guardrail_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// A conversation is edited with each call of a model, all of it: what was clean once is not looked at again, and nothing
// else, however many contents the rule has found something in.
func TestPromptIsEditedEachTime(t *testing.T) {
	guard, err := guardrail.New(guardrail.Config{Policy: parse(t, "rules: [{id: m, stages: [prompt], detect: {pii: [EMAIL_ADDRESS]}, action: redact}]"), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	inv := &session.Invocation{ID: "i", Key: session.Key{App: "a", User: "u", ID: "s"}}
	for range 3 {
		req := &model.Request{Agent: "bot"}
		for _, text := range []string{"nothing", "ann@example.com", "bob@example.com", "nothing, either", "cy@example.com"} {
			req.Contents = append(req.Contents, genai.NewContentFromText(text, genai.RoleUser))
		}
		_, err := guard.BeforeModel(t.Context(), inv, req)
		require.NoError(t, err)
		var said []string
		for _, c := range req.Contents {
			said = append(said, c.Parts[0].Text)
		}
		require.Equal(t, []string{"nothing", "[EMAIL_ADDRESS]", "[EMAIL_ADDRESS]", "nothing, either", "[EMAIL_ADDRESS]"}, said)
	}
}
