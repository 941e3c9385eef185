package phrase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
)

// Nouns and verbs are those of their number.
func TestNumbersAgreeWithTheirNouns(t *testing.T) {
	require.Equal(t, "0 events", phrase.Count(0, "event"))
	require.Equal(t, "1 event", phrase.Count(1, "event"))
	require.Equal(t, "1 policy", phrase.Count(1, "policy"))
	require.Equal(t, "2 policies", phrase.Count(2, "policy"))
	require.Equal(t, "2 replays", phrase.Count(2, "replay"))
	require.Equal(t, "1 of 1 line is wrong", phrase.Of(1, 1, "line", "is wrong", "are wrong"))
	require.Equal(t, "1 of 4 lines is wrong", phrase.Of(1, 4, "line", "is wrong", "are wrong"))
	require.Equal(t, "0 of 4 lines are wrong", phrase.Of(0, 4, "line", "is wrong", "are wrong"))
	require.Equal(t, "policies a, b", phrase.Some("policy", []string{"a", "b"}))
}
