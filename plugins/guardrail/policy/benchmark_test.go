package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

var clean = strings.Repeat(
	"It was a quiet day by the river, and nobody had anything to say about the boats. ", 50)

// What is loaded first makes the detectors' tables, which later ones share: see detect's benchmarks
// of construction.
func BenchmarkLoadDefault(b *testing.B) {
	for b.Loop() {
		_, err := policy.Parse("p.yaml", []byte(
			"rules: [{id: s, detect: {secrets: default}, action: redact}, {id: p, detect: {pii: default}, action: redact}, {id: i, detect: {injection: default}, action: flag}]",
		))
		require.NoError(b, err)
	}
}

func BenchmarkJudgeClean(b *testing.B) {
	p := policy.Default()
	b.SetBytes(int64(len(clean)))
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(policy.Output, policy.Scope{}, clean)
	}
}

// The files of development data, text by text, as a stage sees them that all default rules are
// about.
func BenchmarkJudgeFiles(b *testing.B) {
	p := policy.Default()
	for _, name := range []string{
		"benign-dev.jsonl",
		"attacks-dev.jsonl",
		"pii-dev.jsonl",
		"secrets-dev.jsonl.gz",
	} {
		b.Run(name, func(b *testing.B) {
			texts, size := detecttest.Texts(detecttest.Development(b, "guardrail/"+name)), 0
			for _, text := range texts {
				size += len(text)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, text := range texts {
					p.Judge(policy.Input, policy.Scope{}, text)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000*1024/float64(b.N*size), "µs/KB")
		})
	}
}

// One text of 512 KB, as it is and with escapes.
func BenchmarkJudgeLong(b *testing.B) {
	p := policy.Default()
	for _, of := range []string{"secrets-dev.jsonl.gz", "pii-dev.jsonl"} {
		texts := detecttest.Texts(detecttest.Development(b, "guardrail/"+of))
		var lines []string
		for i, size := 0, 0; size < 512<<10; i++ {
			line := texts[i%len(texts)]
			lines = append(lines, line)
			size += len(line) + 1
		}
		with := func(every int, escapes ...string) string { // one of them, in turn, in one of so many lines
			var text strings.Builder
			for i, line := range lines {
				if i%every == 0 {
					text.WriteString(escapes[i/every%len(escapes)])
				}
				text.WriteString(line + "\n")
			}
			return text.String()
		}
		for _, c := range []struct{ name, text string }{
			{"plain", strings.Join(lines, "\n")},
			{"few", with(100, "a&amp;b ")},
			{"each", with(1, "a&amp;b ")},
			{"tag", with(1, "a&amp;b ") + "\U000e0069"},
			{"json", strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(strings.Join(lines, "\n"))},
			{
				"mixed",
				with(1, "a&amp;b ", "\U000e0069\U000e0067 ", "\u202edef ghi\u202c ", "%41%20 ", `\u0041 `, "aGVsbG8gd29ybGQ= "),
			},
		} {
			b.Run(of+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					p.Judge(policy.Input, policy.Scope{}, c.text)
				}
				b.ReportMetric(
					float64(b.Elapsed().Nanoseconds())/1000*1024/float64(b.N*len(c.text)), "µs/KB")
			})
		}
	}
}

func BenchmarkJudgeShort(b *testing.B) {
	p := policy.Default()
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(policy.Output, policy.Scope{}, clean[:80])
	}
}
