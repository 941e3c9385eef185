package main

import (
	"context"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
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
