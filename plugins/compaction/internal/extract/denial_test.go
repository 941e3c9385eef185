package extract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// What denies a word stays with it, or the text would say the opposite.
func TestDenials(t *testing.T) {
	for _, c := range []struct{ said, want string }{
		{"I am not allergic to peanuts.", "not allergic to peanuts"},
		{"To be honest with you, I have never been to Venice.", "never been to Venice"},
		{"I can't wait until my cousin visits Reykjavik.", "can't wait"},
		{"My brother doesn’t drink wine, but he brews cider.", "doesn’t drink wine"},
		{"There was no gluten in the lasagne.", "no gluten"},
		{"The surgeon said that the operation did not help.", "operation did not help"},
		{"Ich esse nicht gerne Fleisch.", "nicht gerne"},
	} {
		t.Run(c.said, func(t *testing.T) {
			s := added(say(session.User, c.said), say("agent", strings.Repeat("And so they do, as you and I and all of us have been doing. ", 3)))
			text := s.Prose(quarter(c.said)+8, quarter)
			require.NotContains(t, text, c.said, "it is cut")
			require.Contains(t, text, c.want)
		})
	}
}

// One small budget costs what it must, and no more: what fits stays, and the next ones have their room again.
func TestSmallBudgetOnce(t *testing.T) {
	s := new(extract.State)
	var text string
	for i := range 20 {
		s.Add(append(chatter(50, uint64(i)), flights(5)...))
		budget := 2000
		if i == 10 {
			budget = 1000
		}
		before := text
		text = s.Text(budget, quarter)
		require.Less(t, budget*95/100, quarter(text), "generation %d", i)
		for _, id := range []string{"HX000", "HX004", "ABC"} {
			require.Contains(t, text, id)
		}
		had := strings.FieldsFunc(before, func(r rune) bool { return r == '\n' || r == ';' })
		kept := 0
		for _, row := range had {
			if strings.Contains(text, strings.TrimSpace(row)) {
				kept++
			}
		}
		if i == 11 {
			require.Less(t, len(had)/2, kept, "most of what the small one kept is there still")
		}
		s = reload(t, s, text)
	}
}
