package eventtext

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	require.Equal(t, "a\n\tb\uFFFD[31m\uFFFDc é 😀", Printable("a\n\tb\x1b[31m\u202ec é 😀"))
	require.Equal(t, "one two…", OneLine("one\n two three", 8))
	require.Equal(t, "one two", OneLine(" one\ttwo ", 8))
}
