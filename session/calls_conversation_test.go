package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

func TestConversation(t *testing.T) {
	for _, c := range []struct {
		branch, caller, id string
		within             bool
	}{
		{"bot@1", "", "1", true}, {"bot@1.p.a", "", "1", true}, {"bot@1.deep@2", "", "1", true}, {"bot@1.deep@2", "bot@1", "2", true}, {"p.a.bot@1", "p.a", "1", true},
		{"", "", "1", false}, {"bot@1", "", "", false}, {"bot@1", "", "2", false}, {"bot@12", "", "1", false}, {"bot@1.deep@2", "", "2", false}, {"p.bot@1", "", "1", false}, {"bot", "", "bot", false},
	} {
		call := session.Call{
			FunctionCall: &genai.FunctionCall{ID: c.id},
			Event:        &session.Event{Branch: c.caller},
		}
		require.Equal(t, c.within, call.Conversation(c.branch), "%v", c)
	}
}
