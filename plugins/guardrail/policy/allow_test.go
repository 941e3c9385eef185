package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

const bank = `
lists: {ours: ["+41 44 123 45 67", "(800) 555-0100"]}
allow:
  values: ["@ours", CH9300762011623852957, AKIAQYLPMN5HHHFPZAM2]
  domains: [bank.example, "*.bank.example"]
rules:
  - id: pii
    detect: {pii: [PHONE_NUMBER, EMAIL_ADDRESS, IBAN_CODE, URL]}
    allow: {patterns: ['desk-\d+@help\.example']}
    action: redact
  - {id: secrets, detect: {secrets: default}, action: redact}
  - {id: mail, stages: [tool_args], detect: {pii: [EMAIL_ADDRESS]}, action: redact}
`

// What the bank publishes passes, in whatever form it is written; what stands beside it does not.
func TestAllow(t *testing.T) {
	p := parse(t, bank)
	for text, after := range map[string]string{
		// numbers, in other forms
		"call +41 44 123 45 67 or +41 44 123 45 68":  "call +41 44 123 45 67 or [PHONE_NUMBER]",
		"call 0041 44 123 4567 or 0041 44 123 4568":  "call 0041 44 123 4567 or [PHONE_NUMBER]",
		"call +41 (0)44 123 45 67":                   "call +41 (0)44 123 45 67",
		"phone: 044 123 45 67, phone: 044 123 45 76": "phone: 044 123 45 67, phone: [PHONE_NUMBER]",
		"call +49 44 123 4567 from Germany":          "call [PHONE_NUMBER] from Germany",
		"call 800-555-0100, not 800-555-0199":        "call 800-555-0100, not [PHONE_NUMBER]",
		"call ＋４１ ４４ １２３ ４５ ６７ or ＋４１ ４４ １２３ ４５ ６８":  "call ＋４１ ４４ １２３ ４５ ６７ or [PHONE_NUMBER]",
		"to CH93 0076 2011 6238 5295 7":              "to CH93 0076 2011 6238 5295 7",
		"to DE89 3704 0044 0532 0130 00":             "to [IBAN_CODE]",
		// domains, of mail and of links
		"mail help@bank.example, ann@mail.example":             "mail help@bank.example, [EMAIL_ADDRESS]",
		"mail help@cards.bank.example":                         "mail help@cards.bank.example",
		"mail help@bank.example.evil.example":                  "mail [EMAIL_ADDRESS]",
		"mail help@otherbank.example":                          "mail [EMAIL_ADDRESS]",
		"see https://bank.example/fees and https://x.example/": "see https://bank.example/fees and [URL]",
		"see https://bank.example@evil.example/":               "see [URL]",
		"see https://bаnk.example/ (not our letter a)":         "see [URL] (not our letter a)",
		// a pattern is about all of a finding
		"mail desk-12@help.example, xdesk-12@help.example": "mail desk-12@help.example, [EMAIL_ADDRESS]",
		// in secrets each character counts
		"aws AKIAQYLPMN5HHHFPZAM2 and AKIAQYLPMN5HHHFPZAM3": "aws AKIAQYLPMN5HHHFPZAM2 and [SECRET]",
		// in a disguise, which is base64 of an address of the bank, and of another
		"aGVscEBiYW5rLmV4YW1wbGU=": "[EMAIL_ADDRESS]",
	} {
		require.Equal(t, after, p.Judge(policy.Output, policy.Scope{}, text).Text, text)
	}

	// It is told: with the rule, and with why.
	v := p.Judge(policy.Output, policy.Scope{}, "mail desk-1@help.example or help@bank.example")
	require.Equal(t, policy.Allow, v.Action)
	require.Equal(t, "patterns", v.Findings[0].Exception)
	require.Equal(t, "domains", v.Findings[1].Exception)

	// A rule's exceptions are those of that rule.
	v = p.Judge(policy.ToolArgs, policy.Scope{}, "desk-1@help.example")
	require.Equal(t, "mail", v.Rule)
	require.Equal(t, policy.Redact, v.Action)
}

// A stream that is cut anywhere has the same exceptions as the whole.
func TestAllowInStreams(t *testing.T) {
	p := parse(t, bank)
	for _, text := range []string{
		"call +41 44 123 45 67 or +41 44 123 45 68, mail help@bank.example and ann@mail.example. ",
		"see https://bank.example/fees, aGVscEBiYW5rLmV4YW1wbGU= and phone: 044 123 45 67 then 044 123 45 76. ",
	} {
		whole := p.Judge(policy.Output, policy.Scope{}, text)
		for cut := range text {
			scope := policy.Scope{}
			active := p.At(&scope, policy.Output)
			var progress policy.Progress
			var v policy.Verdict
			settled := active.FindSettled(&v, &progress, nil, text[:cut], nil)
			p.Finish(&v, text[:cut])
			begun := p.Edit(&v, text[:cut]).Between(0, settled)
			require.True(t, strings.HasPrefix(whole.Text, begun), "%q: %q", text[:cut], begun)
			var all policy.Verdict
			active.FindSettled(&all, &progress, nil, text+"\n\n", nil)
			p.Decide(&all)
			require.Equal(t, whole.Findings, all.Findings, text[:cut])
		}
	}
}

// The values of a list may stand in a file, thousands of them; what is wrong there is told with its place.
func TestListsInFiles(t *testing.T) {
	var numbers strings.Builder
	numbers.WriteString("# our branches\n\n")
	for i := range 20_000 {
		fmt.Fprintf(&numbers, "+41 44 %03d %02d %02d\n", i/10000, i/100%100, i%100)
	}
	const own = `
lists: {branches: {file: lists/branches.txt}, hosts: {file: lists/hosts.txt}}
allow: {values: ["@branches"], domains: ["@hosts"]}
rules:
  - {id: pii, detect: {pii: [PHONE_NUMBER, EMAIL_ADDRESS]}, action: redact}
`
	file := inFiles(t, "p.yaml", own, "lists/branches.txt", numbers.String(), "lists/hosts.txt", "a.example\nb.example\n")
	p, err := policy.Load(file)
	require.NoError(t, err)
	require.Equal(t, "+41 44 001 99 99, [PHONE_NUMBER], x@b.example",
		p.Judge(policy.Output, policy.Scope{}, "+41 44 001 99 99, +41 44 999 99 99, x@b.example").Text)

	// The files belong to the policy: its revision is theirs, too.
	require.Len(t, p.Files(), 3)
	hosts := filepath.Join(filepath.Dir(file), "lists/hosts.txt")
	require.NoError(t, os.WriteFile(hosts, []byte("a.example\n\nb example\n"), 0o600))
	_, err = policy.Load(file)
	require.ErrorContains(t, err, `hosts.txt:3:1: "b example" is no domain`)
	require.NoError(t, os.WriteFile(hosts, []byte("a.example\n"), 0o600))
	other, err := policy.Load(file)
	require.NoError(t, err)
	require.NotEqual(t, p.Revision(), other.Revision())
}

func TestAllowRefuses(t *testing.T) {
	const rule = "rules: [{id: a, detect: {pii: default}, action: flag}]\n"
	for text, want := range map[string]string{
		"allow: {values: ['@no']}\n" + rule:                                      `p.yaml:1:18: no list has the name "no"`,
		"allow: {values: ['--']}\n" + rule:                                       `p.yaml:1:18: "--" has no letter and no digit`,
		"allow: {domains: ['*']}\n" + rule:                                       `p.yaml:1:19: "*" is no domain`,
		"allow: {patterns: ['a(']}\n" + rule:                                     `p.yaml:1:20: error parsing regexp`,
		"allow: {patterns: ['a*']}\n" + rule:                                     `p.yaml:1:20: "a*" matches the empty text`,
		"allow: {values: []}\n" + rule:                                           `allow: says nothing`,
		"allow:\n" + rule:                                                        `allow wants keys and values, not nothing`,
		"lists: {a: {file: /etc/passwd}}\n" + rule:                               `write {file: PATH}, a path from the directory`,
		"lists: {a: {file: none.txt}}\n" + rule:                                  `none.txt: no such file`,
		"rules: [{id: a, action: flag, allow: {values: [x]}}]":                   `allow: is about what detectors find`,
		"rules: [{id: a, action: flag, min_score: .5}]":                          `min_score: is about what detectors find`,
		"rules: [{id: a, detect: {pii: default}, action: flag, min_score: 1.5}]": `min_score is 1.5`,
	} {
		_, err := policy.Parse("p.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// A rule with a least score leaves alone what its detectors are less sure of.
func TestMinScore(t *testing.T) {
	const text = "phone: 044 123 45 67, card 4111 1111 1111 1111"
	all := parse(t, "rules: [{id: a, detect: {pii: [PHONE_NUMBER, CREDIT_CARD]}, action: redact}]")
	sure := parse(t, "rules: [{id: a, detect: {pii: [PHONE_NUMBER, CREDIT_CARD]}, action: redact, min_score: 1}]")
	require.Equal(t, "phone: [PHONE_NUMBER], card [CREDIT_CARD]", all.Judge(policy.Output, policy.Scope{}, text).Text)
	require.Equal(t, "phone: 044 123 45 67, card [CREDIT_CARD]", sure.Judge(policy.Output, policy.Scope{}, text).Text)
}
