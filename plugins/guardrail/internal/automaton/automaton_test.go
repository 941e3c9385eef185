package automaton_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/internal/automaton"
)

// At each place the keywords that end there are found, longest first, and the beginnings of
// keywords are known.
func TestEveryKeywordIsFoundWhereItEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{1,4}`)
		list := rapid.SliceOfNDistinct(word, 1, 6, rapid.ID).Draw(t, "list")
		text := rapid.StringMatching(`[abcABx]{0,30}`).Draw(t, "text")
		a, err := automaton.New(list)
		require.NoError(t, err)
		state := uint32(0)
		for i := range len(text) {
			state = a.Step(state, text[i])
			read := strings.ToLower(text[:i+1])
			var found []string
			if a.Ends(state) {
				for _, n := range a.Found(state) {
					require.Equal(t, len(list[n]), a.Size(n))
					found = append(found, list[n])
				}
			}
			var want []string
			var begun []int
			for size := min(len(read), 4); size > 0; size-- {
				suffix := read[len(read)-size:]
				begins := false
				for _, word := range list {
					if word == suffix {
						want = append(want, word)
					}
					begins = begins || strings.HasPrefix(word, suffix)
				}
				if begins {
					begun = append(begun, size)
				}
			}
			require.Equal(t, want, found)
			var lengths []int
			a.Begun(state, func(length int, suffix uint32) bool {
				require.Less(t, a.Index(suffix), a.States())
				lengths = append(lengths, length)
				return true
			})
			require.Equal(t, begun, lengths)
		}
	})
}
