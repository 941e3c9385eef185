package guardrail_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// What an exception lets pass is on the event's note, and in the file of decisions, with the exception.
func TestExceptionsAreTold(t *testing.T) {
	decisions := filepath.Join(t.TempDir(), "decisions.jsonl")
	c := with(t, `
allow: {domains: [bank.example]}
rules: [{id: mail, detect: {pii: [EMAIL_ADDRESS]}, action: redact}]`)
	c.Decisions = decisions
	s := stage(t, c, []string{"write to help@ba", "nk.example, ann@x", ".example"})
	events := s.events("hello")
	last := events[len(events)-1]
	require.Equal(t, "write to help@bank.example, [EMAIL_ADDRESS]", last.Text())
	n, ok := guardrail.NoteOf(last)
	require.True(t, ok)
	require.Len(t, n.Records, 2)
	require.Equal(t, []any{"mail", policy.Allow, "domains", 1},
		[]any{n.Records[0].Rule, n.Records[0].Action, n.Records[0].Exception, n.Records[0].Count})
	require.Equal(t, policy.Redact, n.Records[1].Action)
	require.NoError(t, s.runner.Close(ctx))
	lines, err := os.ReadFile(decisions)
	require.NoError(t, err)
	require.Contains(t, string(lines), `"action":"allow","exception":"domains"`)
	require.Contains(t, s.log.String(), `"exception":"domains"`)
}
