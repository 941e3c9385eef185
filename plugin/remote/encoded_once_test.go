package remote

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// countedValue is a value that counts how often it is encoded.
type countedValue struct{ n *int }

func (c countedValue) MarshalJSON() ([]byte, error) {
	*c.n++
	return []byte(`"counted"`), nil
}

// An event that goes to many plugins is encoded once, also if they are called at once.
func TestAnEventIsEncodedOnce(t *testing.T) {
	n := 0
	e := &session.Event{
		ID:             "e1",
		Author:         "bot",
		Content:        genai.NewContentFromText("hello", genai.RoleModel),
		CustomMetadata: map[string]any{"key": countedValue{&n}},
	}
	inv := &session.Invocation{ID: "i", Key: session.Key{App: "app", User: "ann", ID: "s"}}
	for i := range 10 {
		p := Loopback(&plugin.Plugin{
			Name: fmt.Sprint("p", i),
			OnEvent: func(_ context.Context, _ *session.Invocation, got *session.Event) (plugin.Outcome, error) {
				return plugin.Outcome{Reason: fmt.Sprint(got.CustomMetadata["key"])}, nil
			},
		})
		out, err := p.OnEvent(t.Context(), inv, e)
		require.NoError(t, err)
		require.Equal(t, "counted", out.Reason)
		require.NoError(t, p.Close(t.Context()))
	}
	require.Equal(t, 1, n)
}
