package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// What a regular expression matches is found wherever it stands in a long line, in the whole and in
// a stream.
func TestExpressionsInLongLines(t *testing.T) {
	p := with(t, `rules: [{id: r, detect: {regexp: {EMPLOYEE: '\bE-\d{6}\b'}}, action: redact}]`)
	for _, at := range []int{0, 3000, 3066, 3070, 4080, 4090, 4094, 6140, 8190, 12280} {
		text := strings.Repeat("x", at) + " E-123456 " + strings.Repeat("y ", 3000)
		want := strings.Replace(text, "E-123456", "[EMPLOYEE]", 1)
		require.Equal(t, want, p.Policy.Judge(policy.Output, policy.Scope{}, text).Text, at)

		_, whole := streamed(t, quiet(t, p), text[:at+4], text[at+4:at+8], text[at+8:])
		require.Equal(t, want, whole, at)
	}
	// What stands before a match counts wherever the line is divided.
	inside := parse(t, `rules: [{id: r, detect: {regexp: {INSIDE: '\Bsecret'}}, action: redact}]`)
	for at := 3060; at < 3080; at++ {
		text := strings.Repeat("x", at) + "secret" + strings.Repeat("y", 2000)
		require.NotContains(t, inside.Judge(policy.Output, policy.Scope{}, text).Text, "secret", at)
	}
}
