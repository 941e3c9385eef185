package policy_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// Expressions that are looked for only where one of their literals stands find what they find line
// by line.
func TestLiteralsHideNothing(t *testing.T) {
	parts := []string{
		"a",
		"b",
		"ab",
		"K",
		"s",
		"é",
		".",
		"x+",
		"(?:cat|dog)",
		"[0-9]",
		"c*",
		"(?i:Key)",
		"(?i:ab)",
		"^",
		"$",
		`\bq`,
		"(?:b|)",
		"d{2}",
		"\\x{FFFD}",
	}
	texts := []string{
		"a",
		"b",
		"AB",
		"ab",
		"K",
		"k",
		"\u212a",
		"s",
		"ſ",
		"é",
		"É",
		"x",
		"cat",
		"Cat",
		"dog",
		"7",
		"key",
		"\u212aey",
		"keY",
		"q",
		" ",
		"\n",
		"\n",
		"dd",
		"\xff",
		strings.Repeat("z", 1500),
		strings.Repeat("b", 900),
	}
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(t, "expression"),
			"")
		re, err := regexp.Compile(source)
		if err != nil || re.MatchString("") {
			t.Skip()
		}
		p, err := policy.Parse("p.yaml", []byte(
			"rules: [{id: r, detect: {regexp: {X: '"+source+"', Y: 'zzq|cat'}}, action: redact}]"))
		require.NoError(t, err)
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(texts), 1, 20).Draw(t, "text"), "")
		now := policy.FindAll(p, text)
		policy.DropLiterals(p)
		require.Equal(t, policy.FindAll(p, text), now, "%s in %q", source, text)
	})
}

// A thousand expressions with a literal each.
func BenchmarkManyExpressions(b *testing.B) {
	var rules strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rules,
			"  - {id: r%d, detect: {regexp: '\\bproj%d-[a-z]{2,8}-\\d+'}, action: redact}\n", i, i)
	}
	p, err := policy.Parse("p.yaml", []byte("rules:\n"+rules.String()))
	require.NoError(b, err)
	text := clean + "proj7-abc-12 "
	for _, literals := range []bool{true, false} {
		b.Run(fmt.Sprintf("literals=%v", literals), func(b *testing.B) {
			if !literals {
				policy.DropLiterals(p)
			}
			for b.Loop() {
				p.Judge(policy.Output, policy.Scope{}, text)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000*1024/float64(b.N*len(text)),
				"µs/KB")
		})
	}
}
