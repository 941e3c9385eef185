package printer

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/session"
)

// What a workflow does reads as a story: nodes, attempts, questions and results, and nothing twice.
func TestTheStoryOfAWorkflow(t *testing.T) {
	of := func(path string, change func(*session.Event)) *session.Event {
		e := &session.Event{
			ID:       session.NewID(),
			Author:   "desk",
			NodeInfo: &session.NodeInfo{Path: path},
		}
		change(e)
		return e
	}
	ends := func(path string, output any) *session.Event {
		return of(path, func(e *session.Event) {
			e.NodeInfo.Ended = true
			e.Output = output
		})
	}
	fails := func(path, message string) *session.Event {
		return of(path, func(e *session.Event) {
			e.ErrorCode = "NODE_FAILED"
			e.ErrorMessage = message
		})
	}
	calls := func(path, name string) *session.Event {
		return of(path, func(e *session.Event) {
			call := &genai.FunctionCall{
				ID:   path,
				Name: name,
				Args: map[string]any{"message": "Send\nthis?"},
			}
			e.Content = &genai.Content{
				Role:  genai.RoleModel,
				Parts: []*genai.Part{{FunctionCall: call}},
			}
		})
	}
	says := func(path, author, role, text string) *session.Event {
		return of(path, func(e *session.Event) {
			e.Author = author
			e.Branch = "write@" + path
			e.Content = genai.NewContentFromText(text, genai.Role(role))
		})
	}
	agents := fails("desk@i/prices@1/prices@1", "down")
	agents.Author = "prices"
	agents.Branch = "prices@desk@i/prices@1/prices@1"
	routed := ends("desk@i/sort@2", nil)
	routed.Actions.Route = "left"
	answer := &session.Event{
		Author: session.User,
		Content: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{
			FunctionResponse: &genai.FunctionResponse{
				ID:       "q",
				Name:     session.AskTool,
				Response: map[string]any{"result": "yes"},
			},
		}}},
	}
	events := []*session.Event{
		says("desk@i/write@1", "desk", genai.RoleUser, "the input"),
		says("desk@i/write@1", "write", genai.RoleModel, "Dear customer"),
		ends("desk@i/write@1", "Dear customer"),
		ends("desk@i/write?@1", "Dear customer"),
		calls("desk@i/prices@1/prices@1", "price"),
		agents,
		fails("desk@i/prices@1/prices@1", "down"),
		fails("desk@i/prices@1/prices@1", "down"),
		ends("desk@i/prices@1/prices@12", 7),
		calls("desk@i/inner@1/approve@2", session.AskTool),
		answer,
		ends("desk@i/inner@1/approve@2", map[string]any{"send": true}),
		routed,
		ends("desk@i/done@1", nil),
		fails("desk@i/sort?@3", "no such key"),
		fails("desk@i", "desk@i/sort?@3: NODE_FAILED: no such key"),
		ends("desk@i", nil),
	}
	want := `write: Dear customer
prices#1 calls price {"message":"Send\nthis?"}
prices#1 has failed: NODE_FAILED: down
prices#1 has failed again: NODE_FAILED: down
prices#12: 7
inner/approve@2 asks: Send this?
inner/approve@2: {"send":true}
sort@2 is done (route "left")
done is done
sort?@3 has failed: NODE_FAILED: no such key
desk has failed
desk is done
`
	var story strings.Builder
	var out bytes.Buffer
	p := &Printer{
		Out:  terminal.NewOutput(&out, func(error) {}),
		Node: func(line string) { story.WriteString(line + "\n") },
	}
	for _, e := range events {
		require.NoError(t, p.Event(e))
	}
	require.Equal(t, want, story.String())

	// The chat has the same lines, but for the questions, which it puts itself.
	want = "  · " + strings.ReplaceAll(strings.TrimSuffix(want, "\n"), "\n", "\n  · ") + "\n"
	want = strings.ReplaceAll(want, "  · inner/approve@2 asks: Send this?\n", "")
	out.Reset()
	p = &Printer{Out: p.Out, Chat: true}
	for _, e := range events {
		require.NoError(t, p.Event(e))
	}
	require.Equal(t, want, out.String())
}
