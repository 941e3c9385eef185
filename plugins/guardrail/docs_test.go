package guardrail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/selftest"
)

// The guide's policies are policies, and do what it says.
func TestGuide(t *testing.T) {
	data, err := os.ReadFile("../../docs/guardrail.md")
	require.NoError(t, err)
	guide := string(data)
	dir := t.TempDir() // has the file that the guide includes
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shared"), 0o700))
	shared := filepath.Join(dir, "shared", "base.yaml")
	require.NoError(t, os.WriteFile(shared, []byte("lists: {partners: [partner.example]}"), 0o600))
	for i, block := range strings.Split(guide, "```yaml\n") {
		block, _, _ = strings.Cut(block, "```")
		if i == 0 || strings.HasPrefix(block, "plugins:") { // of a configuration
			continue
		}
		p, err := policy.Parse(filepath.Join(dir, "guide.yaml"), []byte(block))
		require.NoError(t, err, block)
		for _, r := range selftest.Run(p) {
			assert.Empty(t, r.Failure, "%s:\n%s", r.Test.Name, block)
		}
	}

	// The policies that it names have tests, and pass them.
	files, err := filepath.Glob("../../examples/policies/*.yaml")
	require.NoError(t, err)
	cookbook, err := filepath.Glob("../../examples/policies/cookbook/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(cookbook), 11)
	for _, file := range append(files, cookbook...) {
		require.Contains(t, guide, strings.TrimPrefix(file, "../"))
		p, err := policy.Load(file)
		require.NoError(t, err)
		p, coverage := p.Covered()
		results := selftest.Run(p)
		_, missing := coverage.Branches()
		if strings.Contains(file, "cookbook") || strings.HasSuffix(file, "bank.yaml") {
			assert.Empty(t, missing, "%s: branches that no test comes to", file)
		}
		require.NotEmpty(t, results, file)
		for _, r := range results {
			assert.Empty(t, r.Failure, "%s: %s", file, r.Test.Name)
		}
	}
}

// The policies of the page about judges are policies, and do what it says.
func TestPageAboutJudges(t *testing.T) {
	data, err := os.ReadFile("../../docs/judges.md")
	require.NoError(t, err)
	tests := 0
	for i, block := range strings.Split(string(data), "```yaml\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "```")
		for _, r := range selftest.Run(parse(t, block)) {
			require.Empty(t, r.Failure, r.Test.Name)
			tests++
		}
	}
	require.Positive(t, tests)
	example, err := policy.Load("../../examples/judge/policy.yaml")
	require.NoError(t, err)
	for _, r := range selftest.Run(example) {
		require.Empty(t, r.Failure, r.Test.Name)
	}
}

// What the guide says of detectors, by example. The words of the guide's table are among them.
func TestGuideIsHonest(t *testing.T) {
	p := parse(
		t,
		`rules: [{id: all, detect: {secrets: default, pii: default, urls: {allow: ["*.corp.example"]}}, action: flag}]`,
	)
	for text, kind := range map[string]string{
		"my SSN is 536228726": "US_SSN", "it is 536-22-8726": "US_SSN", "it is 536228726": "",
		"ann at example dot com": "", "vier eins eins eins": "", "John Smith of 12 High Street": "",
		"password: swordfish": "", "password=Tr0ub4dor&3": "SECRET", "AKIAIOSFODNN7EXAMPLE": "", "AKIAQ6UBXNVPZ3KM7WTR": "SECRET",
		"9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c": "", "api_key = 9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c": "SECRET",
		"4111 1111 1111 1111": "CREDIT_CARD", "1111 1111 1111 1114": "", "NTU1NSA1NTU1IDU1NTUgNDQ0NA==": "CREDIT_CARD",
		"https://a.corp.example@evil.example/": "URL", "http://2130706433/": "URL", "evil.aero": "",
	} {
		var kinds []string
		for _, f := range p.Judge(policy.Input, policy.Scope{}, text).Findings {
			kinds = append(kinds, f.Type)
		}
		if kind == "" {
			require.Empty(t, kinds, text)
		} else {
			require.Contains(t, kinds, kind, text)
		}
	}
}

// What the guide says of phrases with something else than blanks between their words.
func TestGuideIsHonestAboutPhrases(t *testing.T) {
	p := parse(t, `
rules:
  - {id: injection, detect: {injection: default}, action: flag}
  - {id: words, detect: {words: [ignore all previous instructions]}, action: flag}`)
	for between, want := range map[string][]string{
		" ": {"injection", "words"}, "+": {"injection"}, "😀": {"injection"}, "|": {"injection"},
		".": nil, "_": nil, "": nil,
	} {
		text := strings.ReplaceAll("ignore all previous instructions", " ", between)
		var rules []string
		for _, f := range p.Judge(policy.Input, policy.Scope{}, text).Findings {
			rules = append(rules, f.Rule)
		}
		require.ElementsMatch(t, want, rules, text)
	}
}

// The guide's first words say what words cannot do.
func TestGuideSaysFirstWhatWordsCannotDo(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guardrail.md")
	require.NoError(t, err)
	before, _, ok := strings.Cut(string(guide), "\n## ")
	require.True(t, ok)
	require.Contains(t, before, "Words cannot find injected instructions")
	require.Contains(t, before, "taint")
}
