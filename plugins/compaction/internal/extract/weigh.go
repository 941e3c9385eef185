package extract

import (
	"math"
	"strings"
	"unicode/utf8"
)

// A sentence's weight is what its information counts. It is the product of the numbers below that apply.

// reasons are what a sentence itself shows.
var reasons = []struct {
	factor  float64
	applies func(traits) bool
}{
	// It tells something of its author, of a time, or of what was decided or wished.
	{1.5, func(t traits) bool { return t.self && !t.asks }},
	{1.5, func(t traits) bool { return t.time && !t.asks }},
	{1.5, func(t traits) bool { return t.quotes && !t.asks }},
	{1.2, func(t traits) bool { return t.decides && !t.asks && !t.pasted }},

	// It says what is true of everybody: it has no name, and its author does not speak of themselves.
	{0.5, func(t traits) bool { return !t.self && !t.exact && !t.refers }},

	// It begins with a word such as "it"; it has only one word that tells something, or none. A short answer
	// may.
	{0.6, func(t traits) bool { return t.refers && !t.answer }},
	{0.25, func(t traits) bool { return t.thin && !t.answer }},
	{0.001, func(t traits) bool { return t.empty }},

	// It asks what nobody answers in short.
	{0.1, func(t traits) bool { return t.asks && !t.answered }},

	// It is in brackets, such as a caption; a tool said it; somebody pasted it; it is code, or a row of a
	// table or a log.
	{0.25, func(t traits) bool { return t.aside }},
	{0.5, func(t traits) bool { return t.tool }},
	{0.5, func(t traits) bool { return t.pasted && !t.self }},
	{0.01, func(t traits) bool { return t.code }},
}

// What a sentence counts by its position in the conversation. Only the first sentences of a text count more.
const (
	firsts  = 3   // how many sentences of a text are its first; questions are not among them
	brings  = 2.0 // the text opens a day, on which people say what is new
	answers = 2.0 // the text before asks
	probed  = 1.3 // the text after asks; all sentences count more
)

// A sentence in which no word tells something has this weight at most.
const leastTelling = 0.01

// wanted is for a sentence with a word that Stress has named. Such a sentence counts no less for any reason.
const wanted = 20.0

// What the information of a word counts.
const (
	exact = 5.0 // a name, a number, or a word of time
	again = 0.2 // a word that a chosen sentence has
)

// What a sentence gains or loses by the sentences that are chosen already.
const (
	flow   = 1.3 // the sentence beside it, from the same text, is chosen
	crowds = 0.9 // for each chosen sentence of the same day, if both are a tool's, or both are pasted
)

// repeated returns what a sentence counts if n chosen sentences differ from it in names and numbers only.
func repeated(n int) float64 { return math.Pow(float64(n+1), -1.5) }

// traits are what decides the weight of a sentence.
type traits struct {
	self, time, quotes, decides, exact, refers, asks, thin, empty bool
	aside, tool, pasted, code                                     bool
	wanted                                                        bool

	answered bool // a question that is kept together with its answer
	answer   bool // a short answer that is kept together with its question
}

// traits returns what decides the weight of a sentence with these words.
func (s *State) traits(sen sentence, words []word) traits {
	t := traits{
		asks:   sen.asks(),
		refers: pronouns[words[0].plain],
		aside:  strings.HasPrefix(sen.text, "("),
		tool:   sen.byTool(),
		pasted: sen.long,
	}
	strong := 0 // how many words tell something
	names := 0
	for _, w := range words {
		t.self = t.self || speakers[w.plain] && !t.tool && (!sen.long || !groups[w.plain])
		t.time = t.time || times[w.plain]
		t.exact = t.exact || times[w.plain] || w.name && w.term != 0
		t.quotes = t.quotes || w.quoted
		t.decides = t.decides || decisions[w.plain]
		t.wanted = t.wanted || s.stressed[w.term]
		if w.term != 0 && !w.pale {
			strong++
		}
		if w.name {
			names++
		}
	}
	t.empty = strong == 0
	t.thin = strong == 1
	isRow := 2*names >= len(words) || len(words) > 50 || strings.Trim(words[0].plain, "#") == ""
	t.code = isCode(sen.text, 12) || (t.tool || t.pasted) && (isCode(sen.text, 25) || isRow)
	return t
}

// weight returns the weight of a sentence with these traits, without its position.
func (t traits) weight() float64 {
	weight := 1.0
	for _, r := range reasons {
		if r.applies(t) {
			weight *= r.factor
		}
	}
	if t.wanted {
		weight = max(1, weight) * wanted
	}
	return weight
}

// weigh gives their weights to the sentences that have none yet.
func (s *State) weigh() {
	var words []word
	all := s.sentences
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].source == all[from].source && all[to].weight == 0 {
			to++
		}
		if all[from].weight != 0 {
			from++
			continue
		}

		// What was said directly before and after the text.
		ofPerson := !all[from].long && !all[from].byTool()
		opensDay := from == 0 || all[from-1].day != all[from].day
		answersText := from > 0 && s.textAsks(from-1, -1) && all[from-1].author != all[from].author
		isProbed := to < len(all) && s.textAsks(to, 1) && all[to].author != all[from].author
		told := 0 // how many sentences of the text do not ask
		for i := from; i < to; i++ {
			words = splitInto(words, all[i].text)
			if len(words) == 0 {
				all[i].weight = leastTelling / 10
				continue
			}
			t := s.traits(all[i], words)
			t.answer = i > 0 && all[i-1].asks() && together(all[i-1], all[i])
			t.answered = t.asks && i+1 < len(all) && together(all[i], all[i+1])
			weight := t.weight()
			if ofPerson && isProbed {
				weight *= probed
			}
			switch {
			case !ofPerson || t.asks || told >= firsts:
			case opensDay:
				weight *= brings
			case answersText:
				weight *= answers
			}
			if !t.asks {
				told++
			}
			all[i].weight = weight
		}
		from = to
	}
}

// textAsks reports whether the text that a sentence is from has a question. It looks at the sentences from
// index i on, in one direction.
func (s *State) textAsks(i, step int) bool {
	first := s.sentences[i]
	for ; i >= 0 && i < len(s.sentences) && s.sentences[i].source == first.source; i += step {
		if s.sentences[i].author != first.author || first.byTool() {
			return false
		}
		if s.sentences[i].asks() {
			return true
		}
	}
	return false
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
