package extract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// cutAll returns the prose in which all texts are cut into clauses, without its day.
func cutAll(texts ...string) string {
	authors := []string{session.User, "agent"}
	events := []*session.Event{say("agent", "And so they do, as you and I and all of us have been doing.")}
	length := 0
	for i, text := range texts {
		events = append(events, say(authors[i%2], text))
		length += len(text)
	}
	events = append(events, say("agent", strings.Repeat("And so they do, as you and I and all of us have been doing. ", 20)))
	_, prose, _ := strings.Cut(added(events...).Prose(length/4+20, quarter), "\n")
	return prose
}

// A short answer is kept with its question. A greeting or thanks with the name of who is spoken to answers nothing.
func TestAnAnswerIsNotAGreeting(t *testing.T) {
	const question = "Who painted our garden fence?"
	for _, c := range []struct{ said, want string }{
		{"Thanks, Rosa! My uncle painted the fence.", "My uncle painted fence"},
		{"Thanks Rosa! My uncle painted the fence.", "My uncle painted fence"},
		{"Hey Rosa! My uncle painted the fence.", "My uncle painted fence"},
		{"Ha, ha! My uncle painted the fence.", "My uncle painted fence"},
		{"Woo! My uncle painted the fence.", "My uncle painted fence"},
		{"Rosa.", "Rosa"},
		{"Yes, Rosa.", "Yes, Rosa"},
		{"Well, the plumber.", "Well, plumber"},
	} {
		require.Equal(t, "user: "+question+"\nagent: "+c.want, cutAll(question, c.said), c.said)
	}
}

// What an author says of themselves outlives the other's praise of it. Praise and questions take no weight from what a text tells
// behind them.
func TestFactsOutlivePraise(t *testing.T) {
	silence := strings.Repeat("And so they do, as you and I and all of us have been doing. ", 20)
	s := added(
		say("agent", silence),
		say(session.User, "I'm also going to be learning Danish. Do you know any others?"),
		say("agent", "Impressive you're learning Danish."),
		say(session.User, silence),
	)
	require.Equal(t, "[20 May 2024]\nuser: I'm also going to be learning Danish", s.Prose(16, quarter))

	s = added(
		say("agent", silence),
		say("agent", "I painted barns."),
		say("agent", silence),
		say(session.User, "And what did you do?"),
		say("agent", "How lovely of you to ask after my garden! Want to know about it? Kale grew there. I built fences."),
		say(session.User, silence),
	)
	require.Contains(t, s.Prose(14, quarter), "fences")
}

// A clause that depends on another one is not cut from it.
func TestDependentClausesStayWithTheirMainClause(t *testing.T) {
	for _, said := range []string{
		"Besides baking cakes and bread, I'm offering lessons in Molde",
		"Despite months of rain in Molde, we're selling our barley",
		"Especially after I failed my exam in Molde, I've been knitting every evening",
		"Ever since I moved to Molde, my cousin bakes me cakes",
		"They had been quiet for months, but when I played my accordion, they laughed in Molde",
		"My ferry left Molde early, and because it rained, we missed our concert",
	} {
		require.Equal(t, "user: "+said, cutAll(said+"."), said)
	}
	require.Equal(t, "user: We sold our barn in Molde; I bought kale in Bergen", cutAll("We sold our barn in Molde, and I bought kale in Bergen."))
}

// What people show is theirs, and "will" within a reason makes nothing doubtful: both outlive what is true of everybody.
func TestSelfReportsOutliveGeneralities(t *testing.T) {
	silence := strings.Repeat("And so they do, as you and I and all of us have been doing. ", 20)
	for _, c := range []struct{ said, want string }{
		{"Look at this homemade rhubarb cake.", "Look at this homemade rhubarb cake"},
		{"My yarn and my kale are here because it'll be better.", "My yarn and my kale are here because it'll be better"},
	} {
		s := added(say("agent", silence), say("agent", silence), say(session.User, c.said), say("agent", silence),
			say("agent", "Farmers harvest barley and potatoes."), say("agent", silence))
		require.Equal(t, "[20 May 2024]\nuser: "+c.want, s.Prose(20, quarter))
	}
}

// A clause that says only "her" or "them" of somebody is kept with the clause or the question that says of whom.
func TestPronounsAreKeptWithTheirNoun(t *testing.T) {
	silence := strings.Repeat("And so they do, as you and I and all of us have been doing. ", 20)
	s := added(say("agent", silence), say("agent", silence),
		say(session.User, "We have a tortoise. I named her Tilly Bergström."), say("agent", silence))
	require.Equal(t, "[20 May 2024]\nuser: We have tortoise; I named her Tilly Bergström", s.Prose(18, quarter))
	require.Empty(t, s.Prose(12, quarter))

	s = added(say("agent", silence), say("agent", silence),
		say(session.User, "How often do you visit your cousins?"), say("agent", "I see them every Tuesday in Molde."), say("agent", silence))
	require.NotContains(t, s.Prose(15, quarter), "them")
}
