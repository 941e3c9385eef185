package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
	"github.com/plughook/plughook/session"
)

var clean = strings.Repeat("It was a quiet day by the river, and nobody had anything to say about the boats. ", 50)

// What is loaded first makes the detectors' tables, which later ones share: see detect's benchmarks of construction.
func BenchmarkLoadDefault(b *testing.B) {
	for b.Loop() {
		_, err := guardrail.Parse("p.yaml", []byte("rules: [{id: s, detect: {secrets: default}, action: redact}, {id: p, detect: {pii: default}, action: redact}, {id: i, detect: {injection: default}, action: flag}]"))
		require.NoError(b, err)
	}
}

func BenchmarkJudgeClean(b *testing.B) {
	p := guardrail.Default()
	b.SetBytes(int64(len(clean)))
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(guardrail.Output, guardrail.Scope{}, clean)
	}
}

func BenchmarkEventClean(b *testing.B) {
	p := quiet(b, guardrail.Config{})
	e := session.Reply(clean)
	e.Author = "bot"
	inv := &session.Invocation{ID: "i", Key: key}
	b.SetBytes(int64(len(clean)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := p.OnEvent(ctx, inv, e)
		require.NoError(b, err)
	}
}

// A long answer in chunks of four bytes: the work is in proportion to its length, and not to its square.
func BenchmarkStream(b *testing.B) {
	p := quiet(b, guardrail.Config{})
	long := strings.Repeat(clean, 16)
	var chunks []string
	for at := 0; at < len(long); at += 4 {
		chunks = append(chunks, long[at:min(len(long), at+4)])
	}
	b.SetBytes(int64(len(long)))
	for b.Loop() {
		streamed(b, p, chunks...)
	}
}

// The files of development data, text by text, as a stage sees them that all default rules are about.
func BenchmarkJudgeFiles(b *testing.B) {
	p := guardrail.Default()
	for _, name := range []string{"benign-dev.jsonl", "attacks-dev.jsonl", "pii-dev.jsonl", "secrets-dev.jsonl.gz"} {
		b.Run(name, func(b *testing.B) {
			texts, size := detecttest.Texts(detecttest.Development(b, "guardrail/"+name)), 0
			for _, text := range texts {
				size += len(text)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, text := range texts {
					p.Judge(guardrail.Input, guardrail.Scope{}, text)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000*1024/float64(b.N*size), "µs/KB")
		})
	}
}

func BenchmarkJudgeShort(b *testing.B) {
	p := guardrail.Default()
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(guardrail.Output, guardrail.Scope{}, clean[:80])
	}
}
