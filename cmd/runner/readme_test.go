package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/stretchr/testify/require"
)

// The README and the command's page show what the program prints.
func TestREADME(t *testing.T) {
	readme := ""
	for _, page := range []string{"../../README.md", "../../docs/command.md"} {
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		readme += string(data)
	}
	require.Contains(t, readme, exit.Table())

	var out, errs bytes.Buffer
	p := &cli.Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	require.Zero(t, p.Run(t.Context(), newRoot(p), []string{"demo"}), errs.String())
	_, shown, ok := strings.Cut(readme, "$ go run ./examples/demo\n")
	require.True(t, ok)
	shown, _, _ = strings.Cut(shown, "…\n")
	require.Contains(t, out.String(), shown)

	// The chat, where a prompt begins a line that a person types.
	_, talk, ok := strings.Cut(readme,
		"$ go run ./cmd/runner chat --config examples/weather/runner.yaml\n")
	require.True(t, ok)
	talk, _, _ = strings.Cut(talk, "```")
	var typed, said strings.Builder
	for line := range strings.Lines(talk) {
		if text, prompt := strings.CutPrefix(line, "> "); prompt {
			typed.WriteString(text)
		} else if text, prompt := strings.CutPrefix(line, "may it? [y/n/later] "); prompt {
			typed.WriteString(text)
		} else {
			said.WriteString(line)
		}
	}
	code, chat, stderr := clitest.RunLeakless(t, newRoot, strings.NewReader(typed.String()), "chat",
		"--config", "../../examples/weather/runner.yaml")
	require.Zero(t, code, stderr)
	require.Equal(t, said.String(), chat)

	// The policies.
	t.Run("policies", func(t *testing.T) {
		t.Chdir("../..")
		n := 0
		for line := range strings.Lines(readme) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line),
				"$ go run ./cmd/runner policy ")
			if !ok {
				continue
			}
			name, quoted, _ := strings.Cut(command, ` "`)
			args := append([]string{"policy"}, strings.Fields(name)...)
			if quoted != "" {
				args = append(args, strings.TrimSuffix(quoted, `"`))
			}
			code, out, stderr := clitest.RunLeakless(t, newRoot, strings.NewReader(""), args...)
			require.Zero(t, code, stderr)
			_, shown, _ := strings.Cut(readme, line)
			shown, _, _ = strings.Cut(shown, "$ ")
			shown, _, _ = strings.Cut(shown, "```")
			for part := range strings.SplitSeq(shown, "…\n") {
				require.Contains(t, out, part)
			}
			n++
		}
		require.Equal(t, 3, n)
	})

	// The configurations.
	_, text, ok := strings.Cut(readme, "```yaml\nplugins:\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "```")
	_, err := config.Parse("readme.yaml", []byte("plugins:\n"+text))
	require.NoError(t, err)
	_, text, ok = strings.Cut(readme, "```yaml\ntools:\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "```")
	_, err = config.Parse("readme.yaml", []byte("tools:\n"+text))
	require.NoError(t, err)
}

// The page about judges shows what the program prints, without a key: the answers are recorded.
func TestPageAboutJudges(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("docs/judges.md")
	require.NoError(t, err)
	_, shown, ok := strings.Cut(string(page), "$ go run ./cmd/runner policy eval ")
	require.True(t, ok)
	args, shown, _ := strings.Cut(shown, "\n")
	shown, _, _ = strings.Cut(shown, "```")
	line := append(
		[]string{"policy", "eval", "--config", "examples/judge/runner.yaml"},
		strings.Fields(args)...)
	code, out, stderr := clitest.RunLeakless(t, newRoot, strings.NewReader(""), line...)
	require.Zero(t, code, stderr)
	require.Equal(t, shown, out)
}

// The page of the example with a judge shows what the program prints, without a key.
func TestPageOfTheJudgeExample(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("examples/judge/README.md")
	require.NoError(t, err)
	commands := 0
	for i, block := range strings.Split(string(page), "```console\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "```")
		for shown := range strings.SplitSeq(strings.TrimPrefix(block, "$ "), "\n$ ") {
			command, want, _ := strings.Cut(shown, "\n")
			words, quoted, _ := strings.Cut(strings.TrimPrefix(command, "go run ./cmd/runner "),
				` "`)
			args := strings.Fields(words)
			if quoted != "" {
				args = append(args, strings.TrimSuffix(quoted, `"`))
			}
			_, out, stderr := clitest.RunLeakless(t, newRoot, strings.NewReader(""), args...)
			require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(out+stderr), command)
			commands++
		}
	}
	require.Equal(t, 4, commands)
}
