package guardrail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
)

// What a rule's author says of it goes with what it did: to the note, the decisions and the log.
func TestSeverityAndTags(t *testing.T) {
	s := stage(t, with(t, "rules: [{id: a, detect: {words: [heron]}, action: redact, severity: high, tags: [pci, birds]}]"), "a heron")
	events := s.events("hello")
	n, _ := guardrail.NoteOf(events[len(events)-1])
	require.Equal(t, "high", n.Records[0].Severity)
	require.Equal(t, []string{"pci", "birds"}, n.Records[0].Tags)
	require.Contains(t, s.log.String(), `"severity":"high","tags":["pci","birds"]`)
}
