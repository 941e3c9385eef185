package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// A clause is kept whole or not at all: with what denies it, with its condition, its name and its date, and as what its
// author has said. Openings and single words are not kept.
func TestClausesAreWhole(t *testing.T) {
	openings := []string{"", "Hey Mel, ", "Wow, that's great! ", "By the way, ", "Thanks, Audrey! ", "Since we last talked, ", "Yeah. "}
	denials := []string{"", "doesn't", "does not", "never", "can't"}
	conditions := []string{"", "If it rains in Porto, ", "Unless the bank agrees, "}
	endings := []string{"", ", and I told Rosa about it", ", but my sister disagrees with me", " because the old one broke down", " on 14 March"}
	rapid.Check(t, func(t *rapid.T) {
		s := new(extract.State)
		type fact struct{ author, denial, condition string }
		facts := map[string]fact{}
		pick := func(list []string, what string) string { return rapid.SampledFrom(list).Draw(t, what) }
		for i := range rapid.IntRange(1, 12).Draw(t, "facts") {
			f := fact{pick([]string{session.User, "agent"}, "author"), pick(denials, "denial"), pick(conditions, "condition")}
			name := fmt.Sprintf("Zed%d", i)
			facts[name] = f
			text := pick(openings, "opening") + f.condition + "my neighbour " + name + " " + f.denial + " rent the red bicycle shop" + pick(endings, "ending") + "."
			s.Add([]*session.Event{say(f.author, strings.ReplaceAll(text, "  ", " "))})
		}
		text := s.Prose(rapid.IntRange(10, 150).Draw(t, "budget"), quarter)
		full := map[string]string{"u": session.User, "a": "agent"}
		for row := range strings.SplitSeq(text, "\n") {
			author, rest, ok := strings.Cut(row, ": ")
			if !ok {
				continue
			}
			for clause := range strings.SplitSeq(rest, "; ") {
				if strings.Contains(clause, " the red ") {
					continue // the text is as it was said
				}
				require.Greater(t, len(strings.Fields(clause)), 2, "%q in\n%s", clause, text)
				require.NotContains(t, clause, "Mel")
				require.NotContains(t, clause, "Audrey")
				for name, f := range facts {
					if !strings.Contains(clause+" ", name+" ") {
						continue
					}
					who := author
					if full[author] != "" {
						who = full[author]
					}
					require.Equal(t, f.author, who)
					require.Contains(t, clause, f.denial)
					require.Contains(t, strings.ToLower(clause), strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(f.condition, ", "), " the ", " ")))
					require.Contains(t, clause, "rent red bicycle shop")
				}
			}
		}
	})
}

// Marks of footnotes and numbers without the words beside them are not values.
func TestPastedProseLeavesNoLooseNumbers(t *testing.T) {
	s := added(say(session.User, "The GDPR.[2] It was adopted in 2016,[3][4] by 28 states; 173 recitals, the 4th in the 1990s, 100% of 30-60. See [citation needed]. My order is QX-4471 for $250.50."))
	text := s.Text(22, quarter)
	for _, loose := range []string{"GDPR.[", "[2", "28,", "173", "4th", "1990s", "100%", "30-60"} {
		_, values, _ := strings.Cut(text, "Values:")
		require.NotContains(t, values, loose)
	}
	require.Contains(t, text, "QX-4471")
	require.Contains(t, text, "$250.50")
}

// What only greets, thanks, or says how somebody feels about it, is left out. A doubt, a denial, a time and a condition stay,
// and so do the punctuation and the quotation marks around words that are left out.
func TestAClauseEndsWhereItHasSaidWhatItSays(t *testing.T) {
	for _, c := range []struct{ said, want string }{
		{"I won the regional chess cup - so exciting!", "user: I won regional chess cup"},
		{"I watched the Danish thriller, and it was amazing!", "user: I watched Danish thriller"},
		{"Thanks for the tip, I bought the Honda scooter.", "user: I bought Honda scooter"},
		{"Thanks a bunch, I bought the Honda scooter.", "user: I bought Honda scooter"},
		{"On another note, the Honda scooter broke down.", "user: Honda scooter broke down"},
		{"But I bought the Honda scooter.", "user: I bought Honda scooter"},
		{"I bought the Honda scooter, I think.", "user: I bought Honda scooter, I think"},
		{"I bought the Honda scooter, or at least nearly.", "user: I bought Honda scooter, or at least nearly"},
		{"I bought the Honda scooter, not new.", "user: I bought Honda scooter, not new"},
		{"I bought the Honda scooter, until recently.", "user: I bought Honda scooter, until recently"},
		{`I read "The Silver Otter", the best saga by Ingrid Holm.`, `user: I read "The Silver Otter", best saga by Ingrid Holm`},
		{`We performed a piece called "Silver Otter."`, `user: We performed piece called "Silver Otter"`},
		{"This brooch is a gift from Oslo - the capital of Norway (the cold one).", "user: This brooch is gift from Oslo - capital of Norway (cold one)"},
		{"Dr. Ingrid Holm trains a foal twice a week, says J. K. Berg.", "user: Dr. Ingrid Holm trains foal twice a week, says J. K. Berg"},
		{"That's so cool, Edda! I became vegetarian.", "user: I became vegetarian"},
		{"Thank you so much for the tip! I bought the Honda scooter.", "user: I bought Honda scooter"},
		{"I bought the Honda scooter and it's been amazing.", "user: I bought Honda scooter"},
		{"Well, we'll never sell the Honda scooter.", "user: we'll never sell Honda scooter"},
		{"I told my own story, the nights on the Honda scooter.", "user: I told my own story, nights on Honda scooter"},
		{"I'll chat with the Honda mechanic, and ask for the scooter.", "user: I'll chat with Honda mechanic, and ask for scooter"},
		{"I've had the Honda scooter for ten years or so.", "user: I've had Honda scooter for ten years or so"},
		{"The Honda scooter is really not just a toy.", "user: Honda scooter is not just toy"},
		{"Ask Rosa at Tel. 0221 555 or ext. 12.", "user: Ask Rosa at Tel. 0221 555 or ext. 12"},
		{"The Honda scooter stands in room No. 12, cf. Nr. 7, at approx. 9 p.m. in St. Gallen.",
			"user: Honda scooter stands in room No. 12, cf. Nr. 7, at approx. 9 p.m. in St. Gallen"},
		{"I sold bikes, scooters, etc., e.g. to Honda Inc. on Nov. 12, i.e. late.",
			"user: I sold bikes, scooters, etc., e.g. to Honda Inc. on Nov. 12, i.e. late"},
		{"Rosa said no. We met Honda Inc. We leave Oslo at 9 p.m. The scooter stays.",
			"user: Rosa said no; We met Honda Inc; We leave Oslo at 9 p.m; scooter stays"},
	} {
		t.Run(c.said, func(t *testing.T) {
			s := added(say(session.User, c.said), say("agent", strings.Repeat("And so they do, as you and I and all of us have been doing. ", 3)))
			_, text, _ := strings.Cut(s.Prose(quarter(c.said)+14, quarter), "\n")
			require.Equal(t, c.want, text)
		})
	}
}

// What stands in a summary was said so: each clause is a run of one author's words, without articles and words that stress
// others. No denial stands before the run, and none is without the words it is said of.
func TestClausesAreRunsOfWhatWasSaid(t *testing.T) {
	left := map[string]bool{"a": true, "an": true, "the": true, "really": true, "just": true, "actually": true}
	words := func(text string) (list []string) {
		denied := false
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" .,!?-", r) }) {
			denied = denied || strings.HasSuffix(w, "n't") || w == "not" || w == "never"
			if !left[w] || denied && len(w) > 3 {
				list = append(list, w)
			}
		}
		return list
	}
	rapid.Check(t, func(t *rapid.T) {
		pick := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "part") }
		s := new(extract.State)
		said := map[string][]string{} // by author, each a text between blanks
		for i := range rapid.IntRange(2, 14).Draw(t, "texts") {
			text := pick("", "Well, ", "Thanks, Rosa! ", "Great that you came. ", "And ", "We'll see. ") +
				pick("I", "We'll", "My aunt", "It's the plumber who", "The harbour") + " " +
				pick("just ", "not just ", "really doesn't ", "never actually ", "") + "painted the boat" + fmt.Sprintf("%c", 'a'+i) + " " +
				pick("", "and it's a Danish one ", "but they can't really swim ", "if the bank agrees ", "which isn't just a toy ", "- so lovely ") +
				pick("in Oslo", "yesterday", "with a broom") + pick(".", "!", "?")
			author := pick(session.User, "agent")
			said[author[:1]] = append(said[author[:1]], " "+strings.Join(words(text), " ")+" ")
			s.Add([]*session.Event{say(author, text)})
		}
		text := s.Prose(rapid.IntRange(15, 120).Draw(t, "budget"), quarter)
		for row := range strings.SplitSeq(text, "\n") {
			author, rest, ok := strings.Cut(row, ": ")
			if !ok {
				continue
			}
			for clause := range strings.SplitSeq(rest, "; ") {
				run := " " + strings.Join(words(clause), " ") + " "
				found := false
				for _, whole := range said[author[:1]] {
					before, _, ok := strings.Cut(whole, run)
					last := before[strings.LastIndexByte(before, ' ')+1:]
					found = found || ok && last != "not" && last != "never" && !strings.HasSuffix(last, "n't")
				}
				require.True(t, found, "%s: %q of %q", author, clause, said[author[:1]])
			}
		}
	})
}

// What answers a question outlives what nobody has asked for.
func TestAnswersOutliveWhatNobodyAskedFor(t *testing.T) {
	facts := strings.Fields("Aarau Bergen Cusco Dakar Evora Fargo Ghent Haifa Ivrea Jaipur Kazan Lagos Maseru Nantes Oulu Porto")
	rapid.Check(t, func(t *rapid.T) {
		asked := rapid.IntRange(0, len(facts)-1).Draw(t, "asked")
		events := []*session.Event{say("agent", "Some rain fell on Harstad.")}
		for i, name := range facts {
			if i == asked {
				events = append(events, say("agent", "And where do you keep the canoe?"))
			} else {
				events = append(events, say("agent", "That is how it goes."))
			}
			events = append(events, say(session.User, "My canoe was repaired by people in "+name+"."))
		}
		require.Contains(t, added(events...).Prose(32, quarter), facts[asked])
	})
}

// Of two texts of which one has room, one is said as a whole, rather than a part of each.
func TestPassagesAreKept(t *testing.T) {
	s := added(
		say(session.User, "My cousin Bjarne restores wooden ferries. His workshop floods in autumn. The varnish comes from Bergen."),
		say("agent", "Copper kettles tarnish beside the window."),
		say(session.User, "The orchard behind Molde yields quince. Its fence needs larch planks. Moles undermine the compost heap."),
	)
	text := s.Prose(34, quarter)
	whole := 0
	for _, words := range [][]string{{"ferries", "floods", "varnish"}, {"quince", "larch", "compost"}} {
		n := 0
		for _, w := range words {
			if strings.Contains(text, w) {
				n++
			}
		}
		if n == 3 {
			whole++
		}
	}
	require.Equal(t, 1, whole, text)
}

// What a user says between long texts that were pasted is kept, rather than parts of these and the identifiers in them.
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
			fmt.Fprintf(&article, "Version v%d.%d of module PKG%d%d renders the glossary of Bavarian cathedral%d masonry with lib%dx. ", i, j, i, j, i*30+j, j)
		}
		pasted := "Have a look at this. " + article.String()
		if i%2 == 0 {
			s.Add([]*session.Event{say(session.User, pasted), say("agent", "I see."), say(session.User, fact)})
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
