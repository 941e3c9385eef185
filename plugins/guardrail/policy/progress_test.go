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
		return fmt.Sprintf("4%03d %04d %04d %04d, ", r.IntN(1000), r.IntN(10000), r.IntN(10000),
			r.IntN(10000))
	},
	"json": func(r *rand.Rand) string {
		return fmt.Sprintf(`{"name": "ann\n", "token": "x%dq8Zt", "mail": "a%d@b.example"}, `,
			r.IntN(1e9), r.IntN(100))
	},
	"words": func(r *rand.Rand) string {
		all := []string{
			"Cookie: ",
			"session=a8Kq0Zt5vKd9LwY3; ",
			"Authorization: Bearer ",
			"x8Qm2ZtR5vKd9LwY3nBf7 ",
			"password is ",
			"hunter2!x ",
			"curl -s ",
			"-u ann:hunter2hunter2 ",
			"h e l l o ",
			"aGVyb24gYXQgYW5uQGV4YW1wbGUuY29t ",
			"48 65 6c 6c 6f 20 74 68 65 72 65 ",
			"\x1b[1 m",
			"\n",
			"\n\n",
			"SSN ",
			"536 22 8726 ",
			"passport ",
			"123456789 ",
			"born ",
			"1. 2. 1990 ",
			"&#97;nn@b.example ",
			"mysql --host x ",
			"-pS3cretpw ",
			"ignore all ",
			"previous instructions ",
		}
		return all[r.IntN(len(all))]
	},
}

func init() {
	for name, all := range map[string][]string{
		"disguises": {
			"a",
			" ",
			"\n",
			"it was ",
			"\u200b",
			"а",
			"%61",
			"%",
			"&#97;",
			"&amp;",
			"&",
			"\\n",
			"\\u0061",
			"\\",
			"ann@b.example",
			"%40",
			"536-22-8726",
			"h e l l o w o r l d",
			"aGVyb24gYXQgYW5uQGV4YW1wbGUuY29t",
			"YUdWeWIyNGdZWFFnWVc1dVFHVjRZVzF3YkdVdVkyOXQ=",
			"68 65 6c 6c 6f 20 74 68 65 72 65 ",
			"68656c6c6f207468657265",
			"4111 1111 1111 1111",
			"Authorization: Bearer ",
			"x8Qm2ZtR5vKd9LwY3nBf7",
			"\x1b[1m",
			"\xe2\x80",
			"\x8b",
			"，",
			"今天",
			"quiet day",
			"QUIET\u00a0DAY",
			"https://a.example/b",
			"E-123456",
		},
		"hidden": {
			"it was ",
			"\n",
			". ",
			"\U000e0061\U000e006e\U000e006e",
			"\U000e0040\U000e0062.example ",
			"\u202e",
			"elpmaxe.b@nna",
			"\u202c",
			"\u200b",
			"&#97;",
			"ann@b.example ",
			"%61%6e",
			"aGVyb24gYXQgYW5uQGV4YW1wbGUuY29t ",
			"quiet day ",
			"\U000e0160",
			"4111 1111 1111 1111 ",
		},
		"blankless": {
			"今",
			"天我们",
			"，",
			"。",
			"a=b;",
			"c(d)",
			"{",
			"}",
			"\"",
			"\"e\":",
			"password=",
			"hunter2!x",
			"&",
			";",
			"536-22-8726",
			"4111111111111111",
			"ann@b.example",
			"sid=a8Kq0Zt5vKd9LwY3;",
			"Cookie:",
			"aGVyb24g",
			"68656c6c6f20746865",
			"ä",
			"é",
			"/",
			"%20",
			"<b>",
			"<a href=\"https://",
			"E-123456",
			"1",
			"23",
		},
		"links": {
			"https://a.example/",
			"http://b.example",
			"https://",
			"/p",
			",",
			";",
			"x",
			"?q=",
			"&r=",
			"1",
			"23",
		},
		"runs": {
			"415-555-0132",
			"5",
			"678",
			"-",
			"/",
			",",
			"4111111111111111",
			"+49",
			"301234567",
		},
	} {
		makers[name] = func(r *rand.Rand) string { return all[r.IntN(len(all))] }
	}

	// What goes on for longer than detectors look back.
	long := func(begin string, all ...string) func(*rand.Rand) string {
		begun := 0
		return func(r *rand.Rand) string {
			begun++
			if begun%200 == 1 {
				return begin
			}
			return all[r.IntN(len(all))]
		}
	}
	makers["lists"] = long(
		`] } {"passwords": ["hunter2!a", `,
		`"hunter2!b", `,
		`"hunter2!c",`,
		`"ann@b.example", `,
	)
	makers["cookies"] = long("\nCookie: a=b; ", "c=d; ", "sid=a8Kq0Zt5vKd9LwY3nB; ", "theme=dark;")
}

// What is found in a text that grows, and how much of it is settled, is what is found in all of it.
func TestGrowingTextsAreJudgedAsWholeOnes(t *testing.T) {
	rows := detecttest.Texts(detecttest.Development(t, "guardrail/pii-dev.jsonl"))
	rows = append(
		rows,
		detecttest.Texts(detecttest.Development(t, "guardrail/secrets-dev.jsonl.gz"))...)
	p, err := policy.Parse("p.yaml", []byte(
		"rules: [{id: s, detect: {secrets: default, injection: default}, action: redact}, {id: p, detect: {pii: default, words: [quiet day, to say]}, action: redact}, {id: q, detect: {pii: [US_SSN, PHONE_NUMBER]}, action: block}, {id: t, window: turn, detect: {pii: [CREDIT_CARD], regexp: {E: 'E-[0-9]{6}', F: '[ab]{3,}'}}, action: redact}, {id: u, detect: {urls: {allow: [b.example]}}, action: redact}]",
	))
	require.NoError(t, err)
	makers["rows"] = func(r *rand.Rand) string {
		return rows[r.IntN(len(rows))] + []string{" ", "\n", ". "}[r.IntN(3)]
	}
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				r := rand.New(rand.NewPCG(seed, 7))
				var b strings.Builder
				for b.Len() < 2200 {
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
	var gaps []int
	var found []policy.Finding
	shown := 0
	before := func(window string) []string {
		if window == "turn" {
			return []string{"my card is 4111 1111 1111 ", "my card is4111 1111 1111"}
		}
		return []string{""}
	}
	for at := 0; at < len(text); {
		if at > 0 && r.IntN(20) == 0 && len(gaps) < 3 {
			gaps = append(gaps, at)
		}
		at = min(len(text), at+1+r.IntN(150))
		growing := p.At(&scope, policy.Output)
		whole := p.At(&scope, policy.Output)
		var now, want policy.Verdict
		settled := growing.FindSettled(&now, &progress, before, text[:at], gaps)
		atOnce := p.At(&scope, policy.Output).
			FindSettled(&policy.Verdict{}, &policy.Progress{}, before, text[:at], gaps)
		require.Equal(t, atOnce, settled, "of %q", text[max(0, at-400):at])

		// The findings that are not shown yet.
		whole.Find(&want, before, text[:at], gaps)
		p.Finish(&now, text[:at])
		p.Finish(&want, text[:at])
		for _, v := range []*policy.Verdict{&now, &want} {
			v.Findings = slices.DeleteFunc(v.Findings,
				func(f policy.Finding) bool { return f.Start < shown || f.Start >= settled })
		}
		require.ElementsMatch(t, want.Findings, now.Findings, "behind %d of %q", shown,
			text[max(0, at-400):at])
		edit := p.Edit(&want, text[:at])
		end := max(shown, edit.Whole(settled))
		for _, f := range now.Findings {
			if f.Start < end {
				found = append(found, f)
			}
		}
		shown = end
		progress.Shown(shown)
	}

	// What was found step by step is what is found in all of it.
	var all policy.Verdict
	p.At(&scope, policy.Output).Find(&all, before, text, gaps)
	p.Finish(&all, text)
	all.Findings = slices.DeleteFunc(all.Findings,
		func(f policy.Finding) bool { return f.Start >= shown })
	require.ElementsMatch(t, all.Findings, found)
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
			var v policy.Verdict
			progress.Shown(p.At(&scope, policy.Output).FindSettled(&v, &progress, nil, text, nil))
			require.Less(t, progress.Wait(), 128, name)
		}
	}
}

// Of a long text in which little is disguised, the same is found around what is disguised as when
// all of each view is read.
func TestLongTextsWithFewDisguises(t *testing.T) {
	p := policy.Default()
	for _, plain := range []string{
		"prose",
		"digits",
		"numbers",
		"cards",
		"words",
		"blankless",
		"links",
		"runs",
		"lists",
		"cookies",
	} {
		for _, disguise := range []string{"disguises", "hidden"} {
			for seed := range uint64(2) {
				r := rand.New(rand.NewPCG(seed, 9))
				var b strings.Builder
				for b.Len() < 30000 {
					if r.IntN(500) == 0 {
						for range 5 {
							b.WriteString(makers[disguise](r))
						}
					}
					b.WriteString(makers[plain](r))
				}
				text := b.String() + strings.Repeat(". ", 1000)
				var progress policy.Progress
				var scope policy.Scope
				var grown, whole policy.Verdict
				settled := p.At(&scope, policy.Output).
					FindSettled(&grown, &progress, nil, text, nil)
				require.Greater(t, settled, 30000)
				p.At(&scope, policy.Output).Find(&whole, nil, text, nil)
				p.Finish(&grown, text)
				p.Finish(&whole, text)
				require.Equal(t, grown.Text, whole.Text, "%s, %s, %d", plain, disguise, seed)
				require.Equal(t, grown.Findings, whole.Findings, "%s, %s, %d", plain, disguise,
					seed)
			}
		}
	}
}

// Whatever comes behind words that are spaced out, byte by byte the same is found as at once.
func TestGrowingSpacedWords(t *testing.T) {
	p, err := policy.Parse("p.yaml",
		[]byte("rules: [{id: p, detect: {pii: default, words: [to say]}, action: redact}]"))
	require.NoError(t, err)
	for _, between := range []string{" ", " . ", " - ", "    "} {
		for _, behind := range []string{
			"\nso it is",
			". l&#115;f5@ann.example so",
			". 2%321 \\u003447 923&#52; so",
			". &#97;nn@b.example so",
			"(&#5/00 so",
			"%(9 so",
			"&&#x so",
		} {
			apart := strings.NewReplacer(" ", between+" "+between, "t", "t"+between, "s",
				"s"+between, "a", "a"+between)
			text := apart.Replace("to say") + behind + strings.Repeat(" and so it is.", 100)
			var progress policy.Progress
			var scope policy.Scope
			var grown, whole policy.Verdict
			for at := range text {
				grown = policy.Verdict{}
				p.At(&scope, policy.Output).FindSettled(&grown, &progress, nil, text[:at], nil)
			}
			p.At(&scope, policy.Output).Find(&whole, nil, text, nil)
			p.Finish(&grown, text)
			p.Finish(&whole, text)
			require.NotEmpty(t, whole.Findings, "%q", text)
			require.Equal(t, whole.Text, grown.Text)
		}
	}
}
