package extract

import (
	"strings"
	"unicode/utf8"
)

// A sentence's weight is what its information counts: the product of the numbers below that apply.
const (
	tells    = 1.5   // it tells something of its author, or of a time
	answers  = 2.0   // the text before asks
	question = 0.1   // it asks
	silent   = 0.001 // no word of it tells something
	brought  = 0.1   // a tool said it, or somebody pasted it and it tells nothing of them
	listed   = 0.01  // it is code, or a row of a table or a log
)

// wanted is for a sentence with a word that Stress has named. Such a sentence counts no less for any reason.
const wanted = 20.0

// What the information of a word counts.
const (
	exact = 5.0 // a name, a number, or a word of time
	again = 0.2 // a word that a chosen sentence has
)

// flow is what a sentence counts if the one beside it, from the same text, is chosen.
const flow = 1.5

// contentWeight returns what a sentence with these words counts for what is in it.
func (s *State) contentWeight(sen sentence, words []word) float64 {
	fromElsewhere := sen.long || sen.byTool()
	self := false
	time := false
	isWanted := false
	telling := 0
	names := 0
	for _, w := range words {
		self = self || speakers[w.plain] && !sen.byTool()
		time = time || times[w.plain]
		isWanted = isWanted || s.stressed[w.term]
		if w.term != 0 {
			telling++
		}
		if w.name {
			names++
		}
	}
	weight := 1.0
	if sen.asks() {
		weight *= question
	} else {
		if self {
			weight *= tells
		}
		if time {
			weight *= tells
		}
	}
	if telling == 0 {
		weight *= silent
	}
	if fromElsewhere {
		if !self {
			weight *= brought
		}
		isRow := 2*names >= len(words) || len(words) > 50
		if isRow || isCode(sen.text, 25) {
			weight *= listed
		}
	} else if isCode(sen.text, 12) {
		weight *= listed
	}
	if isWanted {
		weight = max(1, weight) * wanted
	}
	return weight
}

// weigh gives their weights to the sentences that have none yet.
func (s *State) weigh() {
	var words []word
	asked := "" // who asked something in the text before
	for from := 0; from < len(s.sentences); {
		// What one author says in one text.
		first := s.sentences[from]
		to := from
		asks := false
		for to < len(s.sentences) && s.sentences[to].source == first.source && s.sentences[to].author == first.author {
			asks = asks || s.sentences[to].asks() && !first.byTool()
			to++
		}
		isAnswer := asked != "" && asked != first.author && !first.long && !first.byTool()
		for i, sen := range s.sentences[from:to] {
			if sen.weight != 0 {
				continue
			}
			words = splitInto(words, sen.text)
			sen.weight = s.contentWeight(sen, words)
			if isAnswer && !sen.asks() {
				sen.weight *= answers
			}
			s.sentences[from+i] = sen
		}
		asked = ""
		if asks {
			asked = first.author
		}
		from = to
	}
}

// isCode reports whether at least one of so many runes of a text is a mark that code and tables have.
func isCode(text string, runes int) bool {
	marks := 0
	for _, r := range text {
		if strings.ContainsRune("{}|=<>\\/_`#*~^&@+()", r) {
			marks++
		}
	}
	return marks >= 3 && marks*runes > utf8.RuneCountInString(text)
}
