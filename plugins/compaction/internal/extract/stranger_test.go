package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// These tests hold what somebody needs who reads a summary and never saw the conversation.

// Logs, tables and code in results leave room for what people said; so do their identifiers.
func TestListsLeaveRoomForWhatIsSaid(t *testing.T) {
	var log, table, code strings.Builder
	for i := range 300 {
		fmt.Fprintf(
			&log,
			"2025-05-30T02:%02d:11.%03dZ INFO billing-7f9c invoice created id=INV-%d trace=%x8f9c\n",
			i%60,
			i,
			4000+i,
			i*7919,
		)
		fmt.Fprintf(&table, " C%05d | Lund & Holm | %d\n", i*37, i)
		fmt.Fprintf(&code, "func run%d(ctx context.Context) error { return s.step%d(ctx, %d) }\n",
			i, i, i)
	}
	facts := []string{
		"My sister Elin can't eat hazelnuts.", "We moved the rehearsal to Thursday.", "I park behind the bakery on Lindgren Street.",
		"The plumber needs our cellar key.", "I broke my wrist skating.", "Our kitten is called Mustard.", "My thesis was about lichens.",
		"I owe Henrik forty euros.", "My mother speaks Faroese.", "I'm growing artichokes on the balcony.",
	}
	s := new(extract.State)
	for i, fact := range facts {
		s.Add([]*session.Event{
			say(session.User, fact),
			call("bash", map[string]any{"command": "logs"}),
			respond("bash", map[string]any{
				"result": []string{log.String(), table.String(), code.String()}[i%3],
			}),
		})
	}
	text := s.Text(170, quarter)
	prose, values := extract.Split(text)
	for _, word := range strings.Fields("hazelnuts Thursday Lindgren cellar wrist Mustard lichens Henrik Faroese artichokes") {
		require.Contains(t, prose, word)
	}
	require.Less(t, quarter(values), 170/4, values)
	require.NotContains(t, prose, "func run")
}

// What an author says again stands once, where it was said last, also over several compactions.
func TestWhatIsSaidAgainStandsOnce(t *testing.T) {
	facts := []string{
		"My sister Elin can't eat hazelnuts.", "We moved the rehearsal to Thursday. I owe Henrik forty euros.", "I park behind the bakery.",
		"The plumber needs our cellar key!", "Our kitten is called Mustard.", "My mother speaks Faroese.", "I broke my wrist skating.",
	}
	for _, budget := range []int{3000, 400, 150} {
		s := new(extract.State)
		text := ""
		for i := range 40 {
			opening := []string{"", "By the way! ", "Well. "}[i%3]
			s.Add([]*session.Event{
				say(session.User, opening+facts[i%7]),
				say(
					"agent",
					[]string{"Noted.", "I have written it down.", "Sure.", "Thanks, that is in my notes."}[i%4],
				),
				say("agent", "Who rang?"),
				say(
					session.User,
					[]string{"The plumber rang. He lives in Oslo.", "My uncle Berit rang. He lives in Oslo."}[i/2%2],
				),
			})
			if i%10 == 9 {
				text = s.Text(budget, quarter)
				s = reload(t, s, text)
			}
		}
		for _, word := range strings.Fields("hazelnuts rehearsal Henrik bakery cellar Mustard Faroese wrist") {
			require.Equal(t, 1, strings.Count(text, word), "%s at %d in\n%s", word, budget, text)
		}
		require.Equal(t, 1, strings.Count(text, "plumber rang"), text)
		require.Equal(t, 1, strings.Count(text, "Berit rang"), text)
		require.LessOrEqual(t, strings.Count(text, "e lives in Oslo"), 1, text)
		require.LessOrEqual(t, strings.Count(text, "Who rang?"), 1, text)
		require.NotContains(t, text, ".;")
	}
}

// Of a run of characters without a space, which nobody can read, only the beginning is in the prose; an
// address and a text in a script without spaces are as they were.
func TestLongRunsAreShort(t *testing.T) {
	digits := strings.Repeat("3141592653", 180)
	address := "https://files.example/" + strings.Repeat("a/b-", 20)
	chinese := strings.Repeat("我们明天在里斯本见面", 30)
	s := added(
		say(session.User, "My key is "+digits+" in Oslo. It is at "+address+" now."),
		call("bash", map[string]any{"command": "pi"}),
		respond("bash", map[string]any{"result": digits + "\n" + digits}),
		say(session.User, chinese),
	)
	text := s.Text(4000, quarter)
	require.NotContains(t, text, digits[:41])
	require.Equal(t, 2, strings.Count(text, digits[:40]+"…"), text)
	require.Contains(t, text, "… in Oslo")
	require.Contains(t, text, address)
	require.Contains(t, text, chinese)
}

// Marks of footnotes and numbers without the words beside them are not values.
func TestPastedProseLeavesNoLooseNumbers(t *testing.T) {
	s := added(say(
		session.User,
		"The GDPR.[2] It was adopted in 2016,[3][4] by 28 states; 173 recitals, the 4th in the 1990s, 100% of 30-60. See [citation needed]. My order is QX-4471 for $250.50.",
	))
	text := s.Text(22, quarter)
	for _, loose := range []string{"GDPR.[", "[2", "28,", "173", "4th", "1990s", "100%", "30-60"} {
		_, values, _ := strings.Cut(text, "Values:")
		require.NotContains(t, values, loose)
	}
	require.Contains(t, text, "QX-4471")
	require.Contains(t, text, "$250.50")
}

// What a user says between long texts that were pasted is kept, rather than parts of these and the
// identifiers in them.
func TestWhatIsSaidOutlivesWhatIsPasted(t *testing.T) {
	facts := []string{
		"My sister Elin can't eat hazelnuts.", "We moved the rehearsal to Thursday.", "I park behind the bakery on Lindgren Street.",
		"The plumber needs our cellar key.", "I broke my wrist skating.", "Our kitten is called Mustard.", "My thesis was about lichens.",
		"I owe Henrik forty euros.", "My mother speaks Faroese.", "I'm growing artichokes on the balcony.",
	}
	s := new(extract.State)
	text := ""
	for i, fact := range facts {
		var article strings.Builder
		for j := range 30 {
			fmt.Fprintf(
				&article,
				"Version v%d.%d of module PKG%d%d renders the glossary of Bavarian cathedral%d masonry with lib%dx. ",
				i,
				j,
				i,
				j,
				i*30+j,
				j,
			)
		}
		pasted := "Have a look at this. " + article.String()
		if i%2 == 0 {
			s.Add([]*session.Event{
				say(session.User, pasted),
				say("agent", "I see."),
				say(session.User, fact),
			})
		} else {
			s.Add([]*session.Event{say(session.User, pasted+"By the way, "+fact), say("agent", "I see.")})
		}
		text = s.Text(220, quarter)
		s = reload(t, s, text)
	}
	for _, word := range strings.Fields("hazelnuts Thursday Lindgren cellar wrist Mustard lichens Henrik Faroese artichokes") {
		require.Contains(t, text, word)
	}
	_, values := extract.Split(text)
	require.Less(t, quarter(values), 220/3, "identifiers in pasted texts")
}
