package extract

import (
	"math"
	"strings"
	"unicode/utf8"
)

// A clause's weight is what its information counts. It is the product of the numbers below that apply.

// reasons are what a clause itself shows.
var reasons = []struct {
	by float64
	is func(traits) bool
}{
	// It tells something of its author, of a time, or of what was decided or wished.
	{1.5, func(t traits) bool { return t.self && !t.asks }},
	{1.5, func(t traits) bool { return t.time && !t.asks }},
	{1.5, func(t traits) bool { return t.quotes && !t.asks }},
	{1.2, func(t traits) bool { return t.decides && !t.asks && !t.pasted }},

	// It says what may be, without a time or a number; or what is true of everybody, without a name either.
	{0.5, func(t traits) bool { return t.may && !t.time && !t.digit }},
	{0.5, func(t traits) bool { return !t.self && !t.exact && !t.refers }},

	// It begins with a form in -ing, such as "Dancing is", which judges more than it tells; or with a word such as "it".
	{0.5, func(t traits) bool { return t.activity }},
	{0.6, func(t traits) bool { return t.refers }},

	// It is about the conversation itself, such as "since we last talked"; it asks; it has one word that tells something; it
	// judges what the other has said, such as "Impressive that you speak Danish".
	{0.3, func(t traits) bool { return t.chats }},
	{0.5, func(t traits) bool { return t.asks }},
	{0.25, func(t traits) bool { return t.thin }},
	{0.7, func(t traits) bool { return t.praises }},

	// It is in brackets, such as a caption; a tool said it; somebody pasted it; it is code, or a row of a table or a log.
	{0.25, func(t traits) bool { return t.aside }},
	{0.5, func(t traits) bool { return t.tool }},
	{0.5, func(t traits) bool { return t.pasted && !t.self }},
	{0.01, func(t traits) bool { return t.code }},
}

// Places: what a clause counts by where it stands in the conversation. Only the first clauses of a text count more.
const (
	firsts  = 2   // how many clauses of a text are its first; those that ask or praise are not among them
	brings  = 2.0 // the text opens a day, on which people say what is new
	answers = 2.5 // the text before asks
	probed  = 1.3 // the text after asks; all clauses count more
)

// wanted is for a clause with a word that Stress has named. Such a clause counts no less for any reason.
const wanted = 8.0

// Words: what the information of a word counts.
const (
	exact = 2.5 // a name, a number, or a word of time
	faint = 0.1 // a pale word
	again = 0.4 // a word that a chosen clause has
)

// Choice: what a clause gains or loses by the clauses that are chosen already.
const (
	flow   = 2.0 // a clause beside it, from the same text, is chosen
	crowds = 0.9 // for each chosen clause of the same day, if both are a tool's, or both are pasted
	asking = 0.3 // the words of another clause without which this one is not to be taken
)

// repeated returns what a clause counts if n chosen clauses differ from it in names and numbers only.
func repeated(n int) float64 { return math.Pow(float64(n+1), -1.5) }

// traits are what decides the weight of a clause.
type traits struct {
	self, time, quotes, decides, may, digit, exact, refers          bool
	activity, chats, praises, asks, thin, aside, tool, pasted, code bool
	wanted                                                          bool
}

// traits returns what decides the weight of a clause of a line.
func (s *State) traits(c clause, words []word, l line) traits {
	said := words[c.from:c.to]
	first := said[0].plain
	t := traits{
		asks:     c.asks,
		exact:    c.exact(words),
		refers:   pronouns[first],
		activity: strings.HasSuffix(first, "ing") && len(first) > 5,
		aside:    openBefore(l.text, said[0].at) == "(",
		tool:     l.byTool(),
		pasted:   l.long,
	}
	t.thin = c.strong(words) == 1 && !t.exact && len(said) > 2 // a shorter one answers
	t.self = !l.long && !l.byTool() && shows(said)
	reason := false // "because it'll help me" doubts nothing
	us := false
	you := false
	judges := false
	talks := false
	for _, w := range said {
		t.self = t.self || own[w.plain] && (!l.long || !plural[w.plain])
		reason = reason || reasoned[w.plain]
		t.may = t.may || modals[w.plain] && !reason
		t.time = t.time || times[w.plain]
		t.digit = t.digit || strings.ContainsAny(w.plain, "0123456789")
		t.quotes = t.quotes || w.quoted
		t.decides = t.decides || decisions[w.plain]
		t.wanted = t.wanted || s.stressed[w.term]
		us = us || w.plain == "we"
		you = you || addressed[w.plain]
		judges = judges || w.pale || w.judges() || interjections[w.plain]
		talks = talks || talked[w.plain]
	}
	t.chats = us && talks
	t.praises = you && judges && !t.self && !t.asks && !t.time && !t.digit
	last := said[len(said)-1]
	whole := l.text[said[0].at : last.at+len(last.text)]
	heading := strings.Trim(first, "#") == ""
	t.code = isCode(whole, 12) ||
		(t.tool || t.pasted) && (isCode(whole, 25) || isList(said) || len(said) > 50 || heading)
	return t
}

// weight returns the weight of a clause with these traits, without its place.
func (t traits) weight() float64 {
	weight := 1.0
	for _, r := range reasons {
		if r.is(t) {
			weight *= r.by
		}
	}
	if t.wanted {
		weight = max(1, weight) * wanted
	}
	return weight
}

// placed returns what the clause with index n of a line counts, by what was said before and after the line.
func placed(lines []line, i, n int) float64 {
	l := lines[i]
	if l.long || l.byTool() {
		return 1
	}
	weight := 1.0
	if i+1 < len(lines) && lines[i+1].asks(l) {
		weight = probed
	}
	switch {
	case n >= firsts:
	case i == 0 || lines[i-1].day != l.day:
		weight *= brings
	case lines[i-1].asks(l):
		weight *= answers
	}
	return weight
}

// isCode reports whether one of so many runes of a text is a mark that code and tables have.
func isCode(text string, of int) bool {
	marks := 0
	for _, r := range text {
		if strings.ContainsRune("{}|=<>\\/_`#*~^&@+()", r) {
			marks++
		}
	}
	return marks >= 3 && marks*of > utf8.RuneCountInString(text)
}

// isList reports whether most words are names and numbers, as in a row of a table.
func isList(words []word) bool {
	n := 0
	for _, w := range words {
		if w.name {
			n++
		}
	}
	return 2*n >= len(words)
}

// decisions are words with which people decide, change their minds, or say how they want something.
var decisions = set(`decided decide decision instead agreed changed moved cancelled canceled postponed rather prefer never
always must allergic refuse refused quit stopped replaced anymore`)

// plural are words of own that documents use, too.
var plural = set(`we us our ours weve`)

// shows reports whether with these words people show what they have: "Look at this cake".
func shows(said []word) bool {
	return len(said) > 2 && looks[said[0].plain+" "+said[1].plain] && said[2].plain == "this"
}

// looks are what such words begin with.
var looks = map[string]bool{"look at": true, "check out": true}

// reasoned are words that begin a reason.
var reasoned = set(`because cause cuz`)

// addressed are words for who is spoken to.
var addressed = set(`you your yours youre youve youd youll yourself`)

// talked are words of clauses such as "it's been ages since we last talked".
var talked = set(`talked chatted spoke caught`)
