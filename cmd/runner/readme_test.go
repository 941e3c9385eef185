package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README shows what the program prints.
func TestREADME(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	readme := string(data)
	require.Contains(t, readme, exitTable())

	var out, errs bytes.Buffer
	p := &program{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	require.Zero(t, p.run(t.Context(), []string{"demo"}), errs.String())
	_, shown, ok := strings.Cut(readme, "$ go run ./cmd/runner demo\n")
	require.True(t, ok)
	shown, _, _ = strings.Cut(shown, "…\n")
	require.Contains(t, out.String(), shown)
}
