package extract

import "strings"

// Weights of clauses; see the package comment.
const (
	exact    = 2.5  // multiplies the information of names, numbers and words of time
	faint    = 0.1  // multiplies the information of a pale word
	telling  = 1.5  // multiplies the weight of a clause about its author, with a time, or with a quotation
	brings   = 2.0  // multiplies the weight of the first clauses of a day
	answers  = 2.5  // multiplies the weight of the first clauses of a text after a question
	probed   = 1.3  // multiplies the weight of a clause of a text before a question
	offers   = 0.5  // multiplies the weight of a clause that says what may be
	general  = 0.5  // multiplies the weight of a clause without its author, a name, a number or a time
	activity = 0.5  // multiplies the weight of a clause that begins with a form in -ing
	thin     = 0.25 // multiplies the weight of a clause in which one word tells something
	tools    = 0.5  // multiplies the weight of a tool's text
	asked    = 0.5  // multiplies the weight of a question
	aside    = 0.25 // multiplies the weight of a clause in brackets, such as a caption
	refers   = 0.6  // multiplies the weight of a clause that begins with a word for something said before
	chats    = 0.3  // multiplies the weight of a clause about the conversation itself
	pasted   = 0.5  // multiplies the weight of a part of a long text
	wanted   = 8.0  // multiplies the weight of a clause with a stressed word, which is at least 1
	flow     = 2.0  // multiplies the gain of a line whose neighbour, from the same text, is chosen
	again    = 0.4  // multiplies the information of a term that a chosen line already has
)

// firsts is how many clauses of a text are its first clauses.
const firsts = 2

// cut returns the clauses of a whole line that say something, with their weights.
func (s *State) cut(l line) (list []line) {
	words, asks := split(l.text)
	for _, c := range clausesOf(words, asks) {
		c = c.body(words)
		if c.tells(words) {
			list = append(list, line{
				author: l.author,
				day:    l.day,
				weight: s.weigh(c, words, l),
				text:   c.write(l.text, words),
				long:   l.long,
			})
		}
	}
	return list
}

// weigh returns what the information of a clause of a line counts, by what is in the clause.
func (s *State) weigh(c clause, words []word, l line) float64 {
	var self, us, talks, may, time, digit, quote, isWanted bool
	for _, w := range words[c.from:c.to] {
		self = self || own[w.plain]
		us = us || w.plain == "we"
		talks = talks || talked[w.plain]
		may = may || modals[w.plain]
		digit = digit || strings.ContainsAny(w.plain, "0123456789")
		time = time || times[w.plain]
		quote = quote || w.quoted
		isWanted = isWanted || s.stressed[w.term]
	}
	first := words[c.from].plain
	weight := 1.0
	for _, f := range []struct {
		is bool
		by float64
	}{
		{self && !c.asks, telling},
		{time && !c.asks, telling},
		{quote && !c.asks, telling},
		{may && !time && !digit, offers},
		{!self && !c.exact(words) && !pronouns[first], general},
		{strings.HasSuffix(first, "ing") && len(first) > 5, activity},
		{us && talks, chats},
		{c.asks, asked},
		{c.strong(words) == 1 && !c.exact(words), thin},
		{l.long && !self, pasted},
		{openBefore(l.text, words[c.from].at) == "(", aside},
		{pronouns[first], refers},
		{strings.HasSuffix(l.author, "()"), tools},
	} {
		if f.is {
			weight *= f.by
		}
	}
	if isWanted {
		weight = max(1, weight) * wanted
	}
	return weight
}

// placed returns what the clause with index n of a line counts, by what was said before and after the line.
func placed(lines []line, i, n int) float64 {
	l := lines[i]
	if l.long || strings.HasSuffix(l.author, "()") {
		return 1
	}
	asks := func(o line) bool { return o.author != l.author && strings.ContainsAny(o.text, "?？") }
	weight := 1.0
	if i+1 < len(lines) && asks(lines[i+1]) {
		weight = probed
	}
	switch {
	case n >= firsts:
	case i == 0 || lines[i-1].day != l.day:
		weight *= brings
	case asks(lines[i-1]):
		weight *= answers
	}
	return weight
}

// talked are words of clauses such as "it's been ages since we last talked".
var talked = set(`talked chatted spoke caught`)
