package policy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/signals"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// scanTexts scans lines and returns what is written, on both outputs, and the exit code.
func scanTexts(in io.Reader, args ...string) (out, said string, code int) {
	var stdout, stderr bytes.Buffer
	p := &cli.Program{Stdin: in, Stdout: &stdout, Stderr: &stderr}
	code = p.Run(context.Background(), root(p), append([]string{"policy", "scan"}, args...))
	return stdout.String(), stderr.String(), code
}

// Who asks line by line gets each answer before the next line, and can leave at any time.
func TestScanAnswersAtOnce(t *testing.T) {
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	ctx, interrupt := context.WithCancelCause(context.Background())
	var stderr bytes.Buffer
	p := &cli.Program{Stdin: in, Stdout: out, Stderr: &stderr}
	ended := make(chan int)
	go func() { ended <- p.Run(ctx, root(p), []string{"policy", "scan"}) }()
	lines := bufio.NewReader(answer)
	for range 3 {
		_, err := io.WriteString(ask, `{"id":1,"text":"mail ann@corp.example"}`+"\n"+`{"id":2,`)
		require.NoError(t, err)
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, `"text":"mail [EMAIL_ADDRESS]"`)
		_, err = io.WriteString(ask, `"text":"x"}`+"\n")
		require.NoError(t, err)
		line, err = lines.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, `"id":2`)
	}
	interrupt(signals.ErrInterrupted)
	require.Equal(t, exit.Interrupted.Number, <-ended)
	require.NoError(t, ask.Close()) // the read that was left waiting ends
	require.Equal(t, "runner: interrupted\n", stderr.String())
}

// A line may be of many megabytes, and lines before one that is cut off are answered.
func TestScanLongLine(t *testing.T) {
	text := strings.Repeat("nothing to see here ", 1<<18) + "ann@corp.example"
	long, err := json.Marshal(map[string]string{"id": "long", "text": text})
	require.NoError(t, err)
	out, said, code := scanTexts(io.MultiReader(bytes.NewReader(long),
		strings.NewReader("\n"+`{"id":2,"text":"x"}`+"\n"+`{"id":3,"te`)))
	require.Equal(t, exit.Usage.Number, code)
	require.Equal(
		t,
		"standard input:3: this is not JSON; write an object on one line: {\"text\": \"…\"}\nrunner: standard input: 1 of 3 lines is wrong, and has no answer\n",
		said,
	)
	answers := strings.SplitAfter(out, "\n")
	require.Len(t, answers, 3)
	require.Contains(t, answers[0],
		`"action":"block","findings":[{"type":"LENGTH"`) // the default's limits.max_bytes
	require.Contains(t, answers[1], `"id":2`)
	require.Empty(t, answers[2])
}

// What stands beside a text does not matter, and what is no Unicode is a character like others.
func TestScanReadsWhatProgramsWrite(t *testing.T) {
	const answer = `{"id":1,"action":"redact","findings":[{"type":"EMAIL_ADDRESS","start":0,"end":16,"rule":"pii","score":1}],"text":"[EMAIL_ADDRESS]"}` + "\n"
	for _, beside := range []string{
		`"app":7`,
		`"user":[]`,
		`"tool":{"a":null}`,
		`"findings":9`,
		`"x":1,"x":2`,
		`"x":{"a":1,"a":2}`,
		`"x":"\ud800"`,
		"\"x\":\"\xff\"",
		"\"x\xff\":1",
		`"n":1e999999`,
		`"stage":null`,
		`"Text":1`,
		`"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	} {
		for _, line := range []string{
			`{"id":1,"text":"ann@corp.example",` + beside + `}`,
			`{` + beside + `,"id":1,"text":"ann@corp.example"}`,
		} {
			out, said, code := scanTexts(strings.NewReader(line))
			require.Zero(t, code, said)
			require.Equal(t, answer, out, line)
		}
	}
	for text, want := range map[string]struct {
		text  string
		start int
	}{
		"\xff":         {"\ufffd", 4},
		`\ud800`:       {"\ufffd", 4},
		`\ud83d\ude00`: {"\U0001F600", 5},
		"\x7f":         {`\u007f`, 2},
		`\u0000`:       {`\u0000`, 2},
	} {
		out, said, code := scanTexts(
			strings.NewReader(`{"id":"a","text":"` + text + ` ann@corp.example"}`))
		require.Zero(t, code, said)
		require.Contains(t, out, `"text":"`+want.text+` [EMAIL_ADDRESS]"`)
		require.Contains(t, out, fmt.Sprintf(`"start":%d,`, want.start))
	}
	const noText = `this is no object with a text, and perhaps a stage, in quotes; write {"text": "…"}`
	const noJSON = `this is not JSON; write an object on one line: {"text": "…"}`
	for line, want := range map[string]string{
		`{"id":"\ud800","text":"x"}`:      "id is not valid JSON: it is not Unicode, or has a key twice",
		`{"id":{"a":1,"a":2},"text":"x"}`: "id is not valid JSON: it is not Unicode, or has a key twice",
		`{"text":"x"}{"text":"y"}`:        noJSON,
		`{"text":"x"`:                     noJSON,
		`{"text":null}`:                   `text is missing; write "text": "…"`,
		`{"text":"x",}`:                   noJSON,
		`{"text" "x"}`:                    noJSON,
		`{"text":"x","n":NaN}`:            noJSON,
		`{"text":"x"} y`:                  noJSON,
		`{"stage":5,"text":"x"}`:          noText,
		`"x"`:                             noText,
	} {
		out, said, code := scanTexts(strings.NewReader(line + "\n"))
		require.Equal(t, exit.Usage.Number, code, line)
		require.Equal(
			t,
			"standard input:1: "+want+"\nrunner: standard input: 1 of 1 line is wrong, and has no answer\n",
			said,
			line,
		)
		require.Empty(t, out)
	}
}

// What is written is what the policy says, whatever the text is.
func TestScanIsJudge(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"ann@corp.example",
		"4111 1111 1111 1111",
		"\u200b",
		"née ",
		"\n",
		"\"",
		"\\",
		"\x00",
		"𝒽",
		" ",
		"tel. +49 30 901820",
		"x",
	})
	rapid.Check(t, func(t *rapid.T) {
		var in bytes.Buffer
		var texts []string
		for range rapid.IntRange(1, 5).Draw(t, "lines") {
			text := strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(t, "text"), "")
			line, err := json.Marshal(
				map[string]any{"id": len(texts), "text": text, "stage": "output"})
			require.NoError(t, err)
			texts = append(texts, text)
			in.Write(append(line, '\n'))
		}
		out, said, code := scanTexts(&in)
		require.Zero(t, code, said)
		answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		require.Len(t, answers, len(texts))
		for i, text := range texts {
			var got scanLine
			require.NoError(t, json.Unmarshal([]byte(answers[i]), &got))
			v := policy.Default().Judge(policy.Output, policy.Scope{}, text)
			require.Equal(t, v.Action, got.Action)
			require.Equal(t, v.Text, got.Text)
			require.Len(t, got.Findings, len(v.Findings))
			for k, f := range v.Findings {
				require.Equal(t, scanFinding{f.Type, f.Start, f.End, f.Rule, f.Score},
					got.Findings[k])
			}
		}
	})
}
