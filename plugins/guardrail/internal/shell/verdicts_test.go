package shell_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/internal/shell"
)

// verdicts are command lines and what is decided about them when "rm *", "git push*" and "> /etc/*" are denied and all else
// is allowed. In a command line of several lines the sign ␤ stands for a line end.
//
//go:embed testdata/verdicts.txt
var verdicts string

// A change here is a change of what a policy means. No line may go from denied or asked to allowed.
func TestVerdicts(t *testing.T) {
	rules := shell.Rules{Deny: patterns(t, "rm *", "git push*", "> /etc/*"), Allow: patterns(t, "*")}
	judged := 0
	for entry := range strings.Lines(verdicts) {
		want, command, ok := strings.Cut(strings.TrimSuffix(entry, "\n"), " ")
		if !ok || want == "#" {
			continue
		}
		command = strings.ReplaceAll(strings.TrimLeft(command, " "), "␤", "\n")
		got, why := rules.Judge(command)
		assert.Equal(t, want, got.String(), "%s: %s", command, why)
		judged++
	}
	require.Greater(t, judged, 450)
}
