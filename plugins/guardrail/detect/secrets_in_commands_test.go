package detect_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

// Secrets that stand in an object or a list.
// Wherever such a text is cut, what was settled stays.
func TestSecretsInOrdinaryForms(t *testing.T) {
	for _, text := range []string{
		`{"password": {"value": "‹Tr0ub4dor3›"}}`, `{"passwords": ["‹Tr0ub4dor3›", "‹hunter2x!›"]}`,
	} {
		plain, want := marked(text)
		var got []string
		for _, f := range detect.Secrets().Find(nil, plain) {
			got = append(got, fmt.Sprintf("%d %s", f.Start, plain[f.Start:f.End]))
		}
		require.Equal(t, want, got, "%q", plain)
		law, pos := detecttest.Offence(detect.Secrets(), plain)
		require.Empty(t, law, "at %d of %q", pos, plain)
	}
}
