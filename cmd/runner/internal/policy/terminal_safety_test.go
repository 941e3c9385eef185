package policy

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever a text is, explaining it steers no terminal: of characters that are not printed nothing
// comes out but line feeds and tabs. Nor does what the policy, which may be somebody else's, calls
// its rules.
func TestExplainIsHarmless(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(policy, []byte(`rules:
  - {id: "a\e]0;m", stages: [input], detect: {words: [ann]}, action: block, message: "m\e[31m"}
  - {id: "b\e]0;m", stages: [output], detect: {words: [ann]}, action: redact}
`), 0o600))
	anything := rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{
			"ann@corp.example",
			"\x1b[31m",
			"\u009b2J",
			"\u202e",
			"a\u200bnn@corp.example",
			"YW5uQGNvcnAuZXhhbXBsZQ==",
			"\xff",
			"\r",
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := anything.Draw(t, "a") + anything.Draw(t, "b")
		var stdout, stderr bytes.Buffer
		p := &cli.Program{Stdin: bytes.NewReader([]byte(text)), Stdout: &stdout, Stderr: &stderr}
		args := []string{"policy", "explain", "-"}
		if rapid.Bool().Draw(t, "theirs") {
			args = append(args, "--policy", policy)
		}
		require.Zero(t, p.Run(context.Background(), root(p), args), stderr.String())
		require.True(t, utf8.Valid(stdout.Bytes()))
		for _, r := range stdout.String() {
			require.True(t, r == '\n' || r == '\t' || unicode.IsPrint(r), "%q in %q", r,
				stdout.String())
		}
	})
}

// Where something is found in a text that is no Unicode: in its own bytes, or with --json in those
// of the text that is written.
func TestExplainInvalidUTF8(t *testing.T) {
	explain := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		p := &cli.Program{Stdin: &bytes.Buffer{}, Stdout: &stdout, Stderr: &stderr}
		require.Zero(
			t,
			p.Run(context.Background(), root(p),
				append([]string{"policy", "explain", "\xff\xfe ann@corp.example \xff"}, args...)),
			stderr.String(),
		)
		return stdout.String()
	}
	said := explain()
	require.Regexp(t, `(?m)^pii .* 3-19 .*"ann@corp.example"$`, said)
	require.Contains(t, said,
		"before  \\xff\\xfe ann@corp.example \\xff\nafter   \\xff\\xfe [EMAIL_ADDRESS] \\xff\n")

	var x policyExplanation
	require.NoError(t, json.Unmarshal([]byte(explain("--json")), &x))
	require.Len(t, x.Findings, 1)
	require.Equal(t, "ann@corp.example", x.Before[x.Findings[0].Start:x.Findings[0].End])
	require.Equal(t, "\ufffd\ufffd ann@corp.example \ufffd", x.Before)
	require.Equal(t, "\ufffd\ufffd [EMAIL_ADDRESS] \ufffd", x.After)
}
