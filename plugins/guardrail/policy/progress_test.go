package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// makers make the pieces that long texts are made of.
var makers = map[string]func(r *rand.Rand) string{
	"prose":  func(*rand.Rand) string { return "It was a quiet day by the river, and nobody had a word to say. " },
	"digits": func(r *rand.Rand) string { return fmt.Sprintf("%d ", r.IntN(100000)) },
	"numbers": func(r *rand.Rand) string {
		return fmt.Sprintf("%03d-%02d-%04d ", r.IntN(1000), r.IntN(100), r.IntN(10000))
	},
	"cards": func(r *rand.Rand) string {
		return fmt.Sprintf("4%03d %04d %04d %04d, ", r.IntN(1000), r.IntN(10000), r.IntN(10000), r.IntN(10000))
	},
	"json": func(r *rand.Rand) string {
		return fmt.Sprintf(`{"name": "ann\n", "token": "x%dq8Zt", "mail": "a%d@b.example"}, `, r.IntN(1e9), r.IntN(100))
	},
	"words": func(r *rand.Rand) string {
		all := []string{"Cookie: ", "session=a8Kq0Zt5vKd9LwY3; ", "Authorization: Bearer ", "x8Qm2ZtR5vKd9LwY3nBf7 ", "password is ", "hunter2!x ", "curl -s ", "-u ann:hunter2hunter2 ",
			"h e l l o ", "aGVyb24gYXQgYW5uQGV4YW1wbGUuY29t ", "48 65 6c 6c 6f 20 74 68 65 72 65 ", "\x1b[1 m", "\n", "\n\n", "SSN ", "536 22 8726 ", "passport ", "123456789 ", "born ", "1. 2. 1990 ", "&#97;nn@b.example ", "mysql --host x ", "-pS3cretpw ", "ignore all ", "previous instructions "}
		return all[r.IntN(len(all))]
	},
}

// What is found in a text that grows, and how much of it is settled, is what is found in all of it.
func TestGrowingTextsAreJudgedAsWholeOnes(t *testing.T) {
	rows := detecttest.Texts(detecttest.Development(t, "guardrail/pii-dev.jsonl"))
	rows = append(rows, detecttest.Texts(detecttest.Development(t, "guardrail/secrets-dev.jsonl.gz"))...)
	p, err := policy.Parse("p.yaml", []byte("rules: [{id: s, detect: {secrets: default, injection: default}, action: redact}, {id: p, detect: {pii: default, words: [quiet day, to say]}, action: redact}, {id: q, detect: {pii: [US_SSN, PHONE_NUMBER]}, action: block}]"))
	require.NoError(t, err)
	makers["rows"] = func(r *rand.Rand) string { return rows[r.IntN(len(rows))] + []string{" ", "\n", ". "}[r.IntN(3)] }
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				r := rand.New(rand.NewPCG(seed, 7))
				var b strings.Builder
				for b.Len() < 5000 {
					b.WriteString(make(r))
				}
				checkGrowing(t, p, b.String(), r)
			}
		})
	}
}

func checkGrowing(t *testing.T, p *policy.Policy, text string, r *rand.Rand) {
	var progress policy.Progress
	var scope policy.Scope
	shown := 0
	for at := 0; at < len(text); {
		at = min(len(text), at+1+r.IntN(150))
		growing := p.At(&scope, policy.Output).Growing(&progress)
		whole := p.At(&scope, policy.Output)
		settled := growing.Settled(nil, text[:at], nil)
		require.Equal(t, whole.Settled(nil, text[:at], nil), settled, "read from %d of %q", progress.From(), text[max(0, at-400):at])

		// The findings that are not shown yet.
		var now, want policy.Verdict
		growing.Find(&now, nil, text[:at], nil)
		whole.Find(&want, nil, text[:at], nil)
		p.Finish(&now, text[:at])
		p.Finish(&want, text[:at])
		for _, v := range []*policy.Verdict{&now, &want} {
			v.Findings = slices.DeleteFunc(v.Findings, func(f policy.Finding) bool { return f.Start < shown || f.Start >= settled })
		}
		require.ElementsMatch(t, want.Findings, now.Findings, "behind %d, read from %d of %q", shown, progress.From(), text[max(0, at-400):at])
		edit := p.Edit(&want, text[:at])
		shown = max(shown, edit.Whole(settled))
		growing.Advance(text[:at], shown)
	}
}

// Of a text that grows, in words, only what is near its end is read.
func TestGrowingTextsAreReadOnce(t *testing.T) {
	p := policy.Default()
	for _, name := range []string{"prose", "digits", "numbers", "cards", "json"} {
		r := rand.New(rand.NewPCG(1, 2))
		text := ""
		var progress policy.Progress
		var scope policy.Scope
		for len(text) < 20000 {
			text += makers[name](r)
			growing := p.At(&scope, policy.Output).Growing(&progress)
			growing.Advance(text, growing.Settled(nil, text, nil))
			require.Less(t, len(text)-progress.From(), 4096, name)
		}
	}
}
