package eventtext

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

func TestPrintable(t *testing.T) {
	require.Equal(t, "a\n\tb\uFFFD[31m\uFFFDc é 😀", Printable("a\n\tb\x1b[31m\u202ec é 😀"))
	require.Equal(t, "one two…", OneLine("one\n two three", 8))
	require.Equal(t, "one two", OneLine(" one\ttwo ", 8))
}

func TestLinesOfAnInterruptedAnswer(t *testing.T) {
	e := session.Reply("Once upon")
	e.Interrupted = true
	require.Equal(t, []string{"Once upon", "(interrupted)"}, Lines(e))
	e.ErrorCode = "UNAVAILABLE"
	require.Equal(t, []string{"Once upon", "(error UNAVAILABLE)"}, Lines(e))
}

func TestLinesOfANode(t *testing.T) {
	e := &session.Event{
		Output:   map[string]any{"b": 1, "a": "x<y"},
		NodeInfo: &session.NodeInfo{Path: "desk@i/sort@1", Ended: true},
	}
	e.Actions.Route = []any{"left", true}
	require.Equal(t,
		[]string{"ends node desk@i/sort@1", `output {"a":"x<y","b":1}`, `route ["left",true]`},
		Lines(e))
	said := session.Reply("hello")
	said.NodeInfo = &session.NodeInfo{Path: "desk@1/greet@1", MessageAsOutput: true}
	require.Equal(t, []string{"hello", "of node desk@1/greet@1, whose output is the text"},
		Lines(said))
	require.Equal(t, []string{"output 0", "output false"},
		append(Lines(&session.Event{Output: 0}), Lines(&session.Event{Output: false})...))
}
