package shell

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verdictsText is a table of command lines and what is decided about them by tableRules. In a
// command line of several lines the sign ␤ stands for a line end. A heading stands before the lines
// of each kind.
//
//go:embed testdata/verdicts.txt
var verdictsText string

type verdict struct {
	heading string
	want    string
	command string
}

func tableRules(t require.TestingT) Rules {
	return Rules{Deny: patterns(t, "rm *", "git push*", "> /etc/*"), Allow: patterns(t, "*")}
}

func readVerdicts(t require.TestingT) []verdict {
	var all []verdict
	heading := ""
	for entry := range strings.Lines(verdictsText) {
		entry = strings.TrimSuffix(entry, "\n")
		if text, ok := strings.CutPrefix(entry, "# "); ok {
			heading = text
			continue
		}
		want, command, ok := strings.Cut(entry, " ")
		if !ok {
			continue
		}
		command = strings.ReplaceAll(strings.TrimLeft(command, " "), "␤", "\n")
		all = append(all, verdict{heading: heading, want: want, command: command})
	}
	require.Greater(t, len(all), 480)
	return all
}

// A change here changes what policies mean. No line may go from denied or asked to allowed.
func TestVerdicts(t *testing.T) {
	rules := tableRules(t)
	for _, entry := range readVerdicts(t) {
		got, why := rules.Judge(entry.command)
		assert.Equal(t, entry.want, got.String(), "%s: %s", entry.command, why)
		require.True(t, got == Allowed || why != "")
	}
}

func TestWhatAgentsRunIsSeldomAskedAbout(t *testing.T) {
	all := 0
	asked := 0
	for _, entry := range readVerdicts(t) {
		if entry.heading != "What agents run." {
			continue
		}
		all++
		require.NotEqual(t, "denied", entry.want)
		if entry.want == "asked" {
			asked++
		}
	}
	require.LessOrEqual(t, asked*10, all, "more than one in ten is asked about")
}
