package detect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

func TestSecretsOnTheDevelopmentData(t *testing.T) {
	d := detect.Secrets()
	var hits, rows [2]int
	for _, row := range detecttest.Development(t, "guardrail/secrets-dev.jsonl.gz") {
		kind := 0
		if row.Positive {
			kind = 1
		}
		rows[kind]++
		if len(d.Find(nil, row.Text)) > 0 {
			hits[kind]++
		}
	}
	recall, alarms := float64(hits[1])/float64(rows[1]), float64(hits[0])/float64(rows[0])
	t.Logf("recall %.4f of %d, false-positive rate %.4f of %d", recall, rows[1], alarms, rows[0])
	require.GreaterOrEqual(t, recall, .99)
	require.LessOrEqual(t, alarms, .10)
}

func TestProseHasNoSecrets(t *testing.T) {
	d := detect.Secrets()
	for _, name := range []string{"guardrail/pii-dev.jsonl", "guardrail/benign-dev.jsonl"} {
		for _, row := range detecttest.Development(t, name) {
			require.Empty(t, d.Find(nil, row.Text), "%s %s", name, row.ID)
		}
	}
}

func TestSecretsKeepTheContractOnTheDevelopmentData(t *testing.T) {
	d := detect.Secrets()
	var all []string
	for _, name := range []string{
		"guardrail/secrets-dev.jsonl.gz", "guardrail/pii-dev.jsonl", "guardrail/benign-dev.jsonl",
		"guardrail/attacks-dev.jsonl",
	} {
		texts := detecttest.Sampled(detecttest.Texts(detecttest.Development(t, name)))
		detecttest.Check(t, d, texts)
		p50, p99 := detecttest.HoldBack(d, texts)
		t.Logf("%s: held back p50 %d, p99 %d bytes", name, p50, p99)
		if name != "guardrail/secrets-dev.jsonl.gz" { // which is secrets from end to end
			all = append(all, texts...)
		}
	}
	p50, p99 := detecttest.HoldBack(d, all)
	require.LessOrEqual(t, p50, 8)
	require.LessOrEqual(t, p99, 64)
}

func BenchmarkSecrets(b *testing.B) {
	d := detect.Secrets()
	for _, name := range []string{"guardrail/pii-dev.jsonl", "guardrail/secrets-dev.jsonl.gz"} {
		b.Run(name, func(b *testing.B) {
			texts, size := detecttest.Texts(detecttest.Development(b, name)), 0
			for _, text := range texts {
				size += len(text)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var found []detect.Finding
			for b.Loop() {
				for _, text := range texts {
					found = d.Find(found[:0], text)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())*1024/float64(b.N*size), "µs/KB")
		})
	}
}

func BenchmarkSecretsConstruction(b *testing.B) {
	for b.Loop() {
		detect.NewSecrets()
	}
}
