package detect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

func pii(t testing.TB, types ...string) detect.Detector {
	t.Helper()
	d, err := detect.PII(types...)
	require.NoError(t, err)
	return d
}

// What is found of the labelled types in the development texts: a finding is right if it has the
// label of a span and shares at least half of their union with it.
func TestPIIOnLabelledTexts(t *testing.T) {
	d := pii(t)
	rows := detecttest.Development(t, "guardrail/pii-dev.jsonl")
	labels := []string{
		"EMAIL_ADDRESS",
		"CREDIT_CARD",
		"IBAN_CODE",
		"IP_ADDRESS",
		"US_SSN",
		"PHONE_NUMBER",
	}
	var found, gold, right int
	for _, label := range labels {
		var f, g, r int
		for _, row := range rows {
			taken := map[int]bool{}
			for _, s := range row.Spans {
				if s.Label == label {
					g++
				}
			}
			for _, finding := range d.Find(nil, row.Text) {
				if finding.Type != label {
					continue
				}
				f++
				hit := false
				for i, s := range row.Spans {
					both := min(s.End, finding.End) - max(s.Start, finding.Start)
					if s.Label == label && !taken[i] &&
						2*both >= s.End-s.Start+finding.End-finding.Start-both {
						taken[i], hit = true, true
						r++
						break
					}
				}
				if !hit {
					t.Logf("%s: %q is none in %q", label, row.Text[finding.Start:finding.End],
						row.Text)
				}
			}
			for i, s := range row.Spans {
				if s.Label == label && !taken[i] {
					t.Logf("%s: %q is missed in %q", label, row.Text[s.Start:s.End], row.Text)
				}
			}
		}
		t.Logf("%-14s %3d there, %3d found, %3d right", label, g, f, r)
		gold, found, right = gold+g, found+f, right+r
	}
	precision, recall := float64(right)/float64(found), float64(right)/float64(gold)
	t.Logf("precision %.3f, recall %.3f", precision, recall)
	require.GreaterOrEqual(t, precision, .97)
	require.GreaterOrEqual(t, recall, .90)
}

// The laws, for every split of every development text, with all types and with one.
func TestPIIOnEverySplit(t *testing.T) {
	for _, file := range []string{
		"guardrail/pii-dev.jsonl", "guardrail/benign-dev.jsonl", "guardrail/attacks-dev.jsonl",
		"guardrail/secrets-dev.jsonl.gz",
	} {
		t.Run(file, func(t *testing.T) {
			texts := detecttest.Texts(detecttest.Development(t, file))
			detecttest.Check(t, pii(t), texts)
			p50, p99 := detecttest.HoldBack(pii(t), texts)
			t.Logf("held back: %d bytes for half of the beginnings, %d for 99 in 100", p50, p99)
			if file != "guardrail/secrets-dev.jsonl.gz" { // no prose
				require.LessOrEqual(t, p50, 8)
				require.LessOrEqual(t, p99, 64)
			}
		})
	}
	detecttest.Check(t, pii(t, "PHONE_NUMBER", "URL"),
		detecttest.Texts(detecttest.Development(t, "guardrail/pii-dev.jsonl")))
}
