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
