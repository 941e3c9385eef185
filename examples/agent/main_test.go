package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "")
	for answer, want := range map[string]string{"y\n": "desk: Your table is booked.", "n\n": "desk: Then I leave it.", "": "desk: Then I leave it."} {
		var out strings.Builder
		require.NoError(t, run(t.Context(),
			[]string{"Is there a table for two at 8?", "Book it.", "Thanks, and where can I park?"},
			strings.NewReader(answer), &out))
		require.Equal(t, `you: Is there a table for two at 8?
desk: There are 3 tables at 8. Shall I book one?
you: Book it.
book_table map[hour:20 people:2]: A table that stays empty costs 20 EUR. [y/n] 
`+want+`
you: Thanks, and where can I park?
concierge: There is a garage behind the house, open until midnight.
`, out.String())
	}
}
