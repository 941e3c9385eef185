package extract

import (
	"strings"
)

// A line is what is kept of a text: the words and phrases that carry most of what it tells.
type line struct {
	author string
	day    string
	weight float64 // of what kind of text it is
	text   string
}

// Line weights: see the package comment.
const (
	share   = 2. / 3 // of a text's information is kept
	asked   = 0.5    // times the value of a question's words
	exact   = 1.3    // times the value of names, numbers and words of time
	telling = 2.0    // times the weight of a text that speaks of its speaker, of a time, or quotes
	tools   = 0.5    // times that of a tool's
)

// shrink returns the line of a text; ok is false if it tells nothing.
func (s *State) shrink(t text, work *shop) (l line, ok bool) {
	mass, value := make([]float64, len(t.words)), make([]float64, len(t.words))
	seen := make(map[uint64]bool, len(t.words))
	total, weight := 0.0, 1.0
	var self, time, quote bool
	for i, w := range t.words {
		self, time, quote = self || own[w.plain], time || times[w.plain], quote || w.quoted
		if w.term == 0 || seen[w.term] || s.terms.common(w.term) {
			continue
		}
		seen[w.term] = true
		mass[i] = s.weigh(w.term)
		total += mass[i]
		value[i] = mass[i]
		if t.asks[w.sentence] {
			value[i] *= asked
		}
		if w.name || times[w.plain] {
			value[i] *= exact
		}
	}
	if total == 0 {
		return line{}, false
	}
	for _, is := range []bool{self, time, quote} {
		if is {
			weight *= telling
		}
	}
	if strings.HasSuffix(t.author, "()") {
		weight *= tools
	}
	// The dearest price of a rune at which enough is bought.
	lo, hi := 0.0, 5.0
	keep := work.buy(t.words, value, lo)
	for range 10 {
		price := (lo + hi) / 2
		bought, got := work.buy(t.words, value, price), 0.0
		for i := range bought {
			if bought[i] {
				got += mass[i]
			}
		}
		if got >= share*total {
			lo, keep = price, bought
		} else {
			hi = price
		}
	}
	var b strings.Builder
	for i, w := range t.words {
		if keep[i] {
			if b.Len() > 0 && !(w.glued && keep[i-1]) {
				b.WriteByte(' ')
			}
			b.WriteString(w.text)
		}
	}
	return line{t.author, t.day, weight, b.String()}, true
}
