package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A key that has no value is refused: a rule would find less than who wrote it thinks, or be about
// others.
func TestParseRefusesWhatSaysNothing(t *testing.T) {
	rule := func(rest string) string { return "rules:\n  - {id: a, " + rest + "}\n" }
	for text, want := range map[string]string{
		"rules:\n  - id: a\n    detect:\n      secrets: default\n      pii:\n      # - EMAIL_ADDRESS\n    action: redact\n": "p.yaml:5:11: pii has no value; give it one, or leave the key out",
		rule(`detect: {secrets: default, pii: ""}, action: redact`):                                                         "p.yaml:2:45: pii has no value",
		rule(`detect: {secrets: "", injection: default}, action: flag`):                                                     "secrets has no value",
		rule(`detect: {injection: "", secrets: default}, action: flag`):                                                     "injection has no value",
		rule(`detect: {words: , secrets: default}, action: redact`):                                                         "words has no value",
		rule(`detect: {words: {}, secrets: default}, action: redact`):                                                       "words has no value",
		rule(`detect: {regexp: null, secrets: default}, action: redact`):                                                    "regexp has no value",
		rule(`detect: {}, action: block`):                                                                                   "detect has no value",
		rule(`detect: {secrets: default}, action: redact, scope: {}`):                                                       "scope has no value",
		rule(`detect: {secrets: default}, action: redact, scope: {user: []}`):                                               "user has no value",
		rule(`detect: {secrets: default}, action: redact, scope: {user: }`):                                                 "user has no value",
		rule(`detect: {secrets: default}, action: redact, when: ""`):                                                        "when has no value",
		rule(`detect: {secrets: default}, action: redact, mode: ""`):                                                        "mode has no value",
		rule(`detect: {secrets: default}, action: redact, trust: ""`):                                                       "trust has no value",
		rule(`detect: {length: {bytes: 5, tokens: -1}}, action: flag`):                                                      "a length must be more than 0",
		rule(`tools: {deny: [x], other: ""}`):                                                                               "other has no value",
		`mode: ""` + "\n" + rule(`detect: {secrets: default}, action: redact`):                                              "p.yaml:1:7: mode has no value",
		`limits: {over_limit: ""}` + "\n" + rule(`detect: {secrets: default}, action: redact`):                              "p.yaml:1:22: over_limit has no value",
	} {
		_, err := policy.Parse("p.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	// Lists that may be empty.
	for _, urls := range []string{"{allow: []}", "{}"} {
		_, err := policy.Parse("p.yaml", []byte(
			"trusted_tools: []\n"+rule(
				"detect: {urls: "+urls+"}, stages: [output], action: redact"),
		))
		require.NoError(t, err)
	}
}
