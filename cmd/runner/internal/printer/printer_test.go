package printer

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/session"
)

// said is an event of an agent; part of one if it is partial.
func said(id, author, text string, partial bool) *session.Event {
	return &session.Event{
		ID:      id,
		Author:  author,
		Partial: partial,
		Content: genai.NewContentFromText(text, genai.RoleModel),
	}
}

// What is printed of a stream is what is printed of the whole, wherever its pieces begin and end.
func TestPrinter(t *testing.T) {
	whole := func(id, author, text string) *session.Event { return said(id, author, text, false) }
	part := func(id, author, text string) *session.Event { return said(id, author, text, true) }
	call := &session.Event{
		ID:     "c",
		Author: "a",
		Content: &genai.Content{
			Parts: []*genai.Part{
				{Text: "Wait."},
				{FunctionCall: &genai.FunctionCall{ID: "1", Name: "f"}},
			},
		},
	}
	ends := func(path string, output any) *session.Event {
		return &session.Event{
			ID:       path,
			Author:   "desk",
			Output:   output,
			NodeInfo: &session.NodeInfo{Path: path, Ended: true},
		}
	}
	for name, tc := range map[string]struct {
		events     []*session.Event
		want, chat string
	}{
		"a workflow's output": {[]*session.Event{ends("desk@i/n@1", "no"), ends("desk@i", map[string]any{"sent": true})}, "{\"sent\":true}\n",
			"  · n: no\ndesk: {\"sent\":true}\n"},
		"a workflow's text": {[]*session.Event{ends("desk@i", "sent")}, "sent\n", "desk: sent\n"},
		"a workflow that has spoken": {[]*session.Event{whole("1", "a", "one"), ends("desk@i", 0)}, "one\n",
			"a: one\n  · desk: 0\n"},
		"a whole": {[]*session.Event{whole("1", "a", "one\ntwo\n\n")}, "one\ntwo\n", "a: one\ntwo\n"},
		"a stream": {[]*session.Event{part("1", "a", "o"), part("1", "a", "ne\n"), part("1", "a", "two\n"), part("1", "a", "\n"), whole("1", "a", "one\ntwo\n\n")},
			"one\ntwo\n", "a: one\ntwo\n"},
		"a stream with a rest":         {[]*session.Event{part("1", "a", "one\n"), whole("1", "a", "one\ntwo")}, "one\ntwo\n", "a: one\ntwo\n"},
		"it begins with spaces":        {[]*session.Event{part("1", "a", "\n"), part("1", "a", "one"), whole("1", "a", "one")}, "one\n", "a: one\n"},
		"thoughts are not said":        {[]*session.Event{{ID: "1", Author: "a", Content: &genai.Content{Parts: []*genai.Part{{Text: "hm", Thought: true}}}}}, "", ""},
		"what the user says is not":    {[]*session.Event{whole("1", session.User, "Hello")}, "", ""},
		"two at once":                  {[]*session.Event{part("1", "a", "on"), part("2", "b", "tw"), part("1", "a", "e"), whole("2", "b", "two"), whole("1", "a", "one more")}, "one\ntwo\n more\n", "a: one\nb: two\na:  more\n"},
		"one that was whole before":    {[]*session.Event{part("1", "a", "one"), whole("2", "b", "two"), whole("1", "a", "one")}, "one\ntwo\n", "a: one\nb: two\n"},
		"one that never gets whole":    {[]*session.Event{part("1", "a", "on"), whole("2", "plugin/p", "No.")}, "on\nNo.\n", "a: on\nplugin/p: No.\n"},
		"one that becomes another":     {[]*session.Event{part("1", "a", "one"), whole("1", "a", "two")}, "one\ntwo\n", "a: one\na: two\n"},
		"calls are shown where people": {[]*session.Event{call}, "Wait.\n", "a: Wait.\n  · calls f {}\n"},
		"what steers a terminal":       {[]*session.Event{part("1", "a", "\x1b[31m"), whole("1", "a", "\x1b[31mred")}, "\uFFFD[31mred\n", "a: \uFFFD[31mred\n"},
	} {
		for _, chat := range []bool{false, true} {
			var out bytes.Buffer
			p := &Printer{Out: terminal.NewOutput(&out, func(error) {}), Chat: chat, Stream: true}
			for _, e := range tc.events {
				require.NoError(t, p.Event(e), name)
			}
			want := tc.want
			if chat {
				want = tc.chat
			}
			require.Equal(t, want, out.String(), "%s, chat: %v", name, chat)
		}
	}
}
