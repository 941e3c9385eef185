package extract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// silence is a long text that tells nothing.
var silence = strings.Repeat("And so they do, as you and I and all of us have been doing. ", 20)

// said returns what a summary says: the author's initial and a sentence.
func said(prose string) (list []string) {
	for row := range strings.SplitSeq(prose, "\n") {
		author, rest, ok := strings.Cut(row, ": ")
		if !ok {
			continue
		}
		for _, sentence := range extract.Statements(rest) {
			list = append(list, author[:1]+": "+sentence)
		}
	}
	return list
}

// What stands in a summary was said so, word for word: each sentence is kept whole, under the name of
// its author, or left out.
func TestSentencesAreKeptWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "part") }
		s := new(extract.State)
		var all []string
		budget := rapid.IntRange(15, 150).Draw(t, "budget")
		for i := range rapid.IntRange(2, 14).Draw(t, "texts") {
			author := pick(session.User, "agent")
			opening := pick("", "Thanks, Rosa!", "Great that you came.", "How is Edda?")
			fact := pick("Well, ", "And ", "Unless the bank agrees, ", "") + pick("I", "My aunt", "It's the plumber who", "Dr. Holm") +
				pick(" just", " not just", " really doesn't", " never actually", "") + fmt.Sprintf(" painted the boat%c", 'a'+i) +
				pick(
					", and I told her so",
					", but they can't really swim",
					" if the bank agrees",
					" - so lovely",
					"",
				) +
				pick(" in Oslo", " yesterday", " at 9 p.m. sharp") + pick(".", "!", "?", ` "twice."`)
			text := strings.TrimSpace(opening + " " + fact)
			all = append(all, author[:1]+": "+opening, author[:1]+": "+fact)
			s.Add([]*session.Event{say(author, text)})
			if rapid.Bool().Draw(t, "compact") {
				s = reload(t, s, s.Text(budget, quarter))
			}
		}
		for _, sentence := range said(s.Text(budget, quarter)) {
			require.Contains(t, all, sentence)
		}
	})
}

// A sentence ends with its punctuation and the quotation marks behind it, and not with the point of an
// abbreviation, of an initial or of a date. What has no point at its end gets one.
func TestWhereSentencesEnd(t *testing.T) {
	for _, sentences := range [][]string{
		{"I won the cup - so exciting!", "And you?"},
		{"Dr. Ingrid Holm trains a foal, says J. K. Berg.", "It is grey."},
		{"The scooter stands in room No. 12, cf. Nr. 7, at approx. 9 p.m. in St. Gallen.", "Rosa has the key."},
		{"I sold bikes, scooters, etc., e.g. to Honda Inc. on Nov. 12, i.e. late.", "Ask Rosa at Tel. 0221 555 or ext. 12."},
		{"Rosa said no.", "We met Honda Inc.", "We leave Oslo at 9 p.m.", "The scooter stays."},
		{`We sang a piece called "Silver Otter."`, `"Again!" they said.`, "So we did (twice)."},
		{"¿Cuánto se tarda del centro a Mislata?", "Il y en a sept près du canal de Lyon."},
		{"Der Umzug mit Ahlers ist am 8. Juli in Bremen.", "Lotta kommt."},
		{"我昨天在上海见到了李明。", "他给我看了他的新房子"},
		{"no point at the end."},
	} {
		text := strings.Join(sentences, " ")
		s := added(say(session.User,
			strings.TrimSuffix(text, " end.")+strings.Repeat(" end", strings.Count(text, " end."))))
		_, prose, _ := strings.Cut(s.Text(1000, quarter), "\n")
		require.Equal(t, sentences, extract.Statements(strings.TrimPrefix(prose, "user: ")), text)
	}
}

// What answers a question outlives what nobody has asked for.
func TestAnswersOutliveWhatNobodyAskedFor(t *testing.T) {
	facts := strings.Fields(
		"Aarau Bergen Cusco Dakar Evora Fargo Ghent Haifa Ivrea Jaipur Kazan Lagos Maseru Nantes Oulu Porto",
	)
	rapid.Check(t, func(t *rapid.T) {
		asked := rapid.IntRange(0, len(facts)-1).Draw(t, "asked")
		events := []*session.Event{say("agent", "Some rain fell on Harstad.")}
		for i, name := range facts {
			if i == asked {
				events = append(events, say("agent", "And where do you keep the canoe?"))
			} else {
				events = append(events, say("agent", "That is how it goes."))
			}
			events = append(events,
				say(session.User, "My canoe was repaired by people in "+name+"."))
		}
		require.Contains(t, added(events...).Text(32, quarter), facts[asked])
	})
}

// What an author says of themselves outlives the other's praise of it, and what is true of everybody. A
// doubt, a denial and a condition do not make a sentence count less.
func TestFactsOutliveGeneralities(t *testing.T) {
	for _, fact := range []string{
		"I'm also learning Danish, I think.", "I never ate peanuts.", "If it rains, I sell our barn in Molde.", "Ich esse nie Fleisch.",
	} {
		s := added(say("agent", silence), say(session.User, fact), say("agent", silence),
			say("agent", "Impressive that you can do such a wonderful thing."),
			say("agent", "Farmers harvest barley and potatoes."), say("agent", silence))
		require.Equal(t, "[20 May 2024]\nuser: "+fact, s.Text(quarter(fact)+8, quarter))
	}
}

// Of two texts of which one has room, one is said as a whole, rather than a part of each.
func TestTextsAreKeptWhole(t *testing.T) {
	s := added(
		say(
			session.User,
			"Sailors restore wooden ferries. The workshop floods in autumn. Fresh varnish smells of resin.",
		),
		say("agent", "Copper kettles tarnish beside the window."),
		say(
			session.User,
			"The orchard yields quince. Its fence needs larch planks. Moles undermine the compost heap.",
		),
	)
	text := s.Text(34, quarter)
	whole := 0
	for _, words := range [][]string{{"ferries", "floods", "resin"}, {"quince", "larch", "compost"}} {
		missing := slices.ContainsFunc(words,
			func(w string) bool { return !strings.Contains(text, w) })
		if !missing {
			whole++
		}
	}
	require.Equal(t, 1, whole, text)
}

// A summary that has no state, such as a model's, is cut into sentences.
func TestASummaryWithoutAStateIsCutIntoSentences(t *testing.T) {
	const text = "[20 May 2024]\nuser: We have a tortoise. I named her Tilly.\nIt rains in Oslo! Bring a coat.\n\nValues:\nsaid: QX7788"
	s := extract.Resume(nil, text)
	s.Add([]*session.Event{say(session.User, "I bought a canoe.")})
	require.Equal(
		t,
		"[20 May 2024]\nuser: We have a tortoise.  I named her Tilly.\nIt rains in Oslo!  Bring a coat.\n"+
			"u: I bought a canoe.\n\nValues:\nsaid: QX7788",
		s.Text(1000, quarter),
	)
}
