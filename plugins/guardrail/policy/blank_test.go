package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A key that says nothing is refused: a rule would find less than who wrote it thinks, or be about others.
func TestParseRefusesWhatSaysNothing(t *testing.T) {
	rule := func(rest string) string { return "rules:\n  - {id: a, " + rest + "}\n" }
	for text, want := range map[string]string{
		"rules:\n  - id: a\n    detect:\n      secrets: default\n      pii:\n      # - EMAIL_ADDRESS\n    action: redact\n": "p.yaml:5:11: pii says nothing; give it a value, or leave the key out",
		rule(`detect: {secrets: default, pii: ""}, action: redact`):                                                         "p.yaml:2:45: pii says nothing",
		rule(`detect: {secrets: "", injection: default}, action: flag`):                                                     "secrets says nothing",
		rule(`detect: {injection: "", secrets: default}, action: flag`):                                                     "injection says nothing",
		rule(`detect: {words: , secrets: default}, action: redact`):                                                         "words says nothing",
		rule(`detect: {words: {}, secrets: default}, action: redact`):                                                       "words says nothing",
		rule(`detect: {regexp: null, secrets: default}, action: redact`):                                                    "regexp says nothing",
		rule(`detect: {}, action: block`):                                                                                   "detect says nothing",
		rule(`detect: {secrets: default}, action: redact, scope: {}`):                                                       "scope says nothing",
		rule(`detect: {secrets: default}, action: redact, scope: {user: []}`):                                               "user says nothing",
		rule(`detect: {secrets: default}, action: redact, scope: {user: }`):                                                 "user says nothing",
		rule(`detect: {secrets: default}, action: redact, when: ""`):                                                        "when says nothing",
		rule(`detect: {secrets: default}, action: redact, mode: ""`):                                                        "mode says nothing",
		rule(`detect: {secrets: default}, action: redact, trust: ""`):                                                       "trust says nothing",
		rule(`detect: {length: {bytes: 5, tokens: -1}}, action: flag`):                                                      "a length is more than 0",
		rule(`tools: {deny: [x], other: ""}`):                                                                               "other says nothing",
		`mode: ""` + "\n" + rule(`detect: {secrets: default}, action: redact`):                                              "p.yaml:1:7: mode says nothing",
		`limits: {over_limit: ""}` + "\n" + rule(`detect: {secrets: default}, action: redact`):                              "p.yaml:1:22: over_limit says nothing",
	} {
		_, err := policy.Parse("p.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	// Lists that may be empty.
	for _, urls := range []string{"{allow: []}", "{}"} {
		_, err := policy.Parse("p.yaml", []byte("trusted_tools: []\n"+rule("detect: {urls: "+urls+"}, stages: [output], action: redact")))
		require.NoError(t, err)
	}
}
