package extract

import (
	"slices"
	"strings"
)

// A line is what is kept of a text: all of it while there is room, and then the words and phrases that carry most
// of what it tells.
type line struct {
	author string
	day    string
	weight float64 // of what kind of text it is, 0 if it is whole
	text   string

	words []word // of a text that is new
	asks  []bool
}

// Line weights: see the package comment.
const (
	share   = 0.7 // of a text's information is kept
	asked   = 0.5 // times the value of a question's words
	exact   = 1.3 // times the value of names, numbers and words of time
	telling = 2.0 // times the weight of a text that speaks of its speaker, of a time, or quotes
	tools   = 0.5 // times that of a tool's
)

// cut returns what is left of a whole line; ok is false if it tells nothing.
func (s *State) cut(l line, work *shop) (short line, ok bool) {
	words, asks := l.words, l.asks
	if words == nil {
		words, asks = split(l.text)
	}
	mass, value := make([]float64, len(words)), make([]float64, len(words))
	seen := make([]uint64, 0, len(words))
	total, weight := 0.0, 1.0
	var self, time, quote bool
	for i, w := range words {
		self, time, quote = self || own[w.plain], time || times[w.plain], quote || w.quoted
		if w.term == 0 || slices.Contains(seen, w.term) || s.terms.common(w.term) {
			continue
		}
		seen = append(seen, w.term)
		mass[i] = s.weigh(w.term)
		total += mass[i]
		value[i] = mass[i]
		if asks[w.sentence] {
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
	if strings.HasSuffix(l.author, "()") {
		weight *= tools
	}
	denied := deny(words)
	// The dearest price of a rune at which enough is bought.
	lo, hi := 0.0, 5.0
	keep := work.buy(words, value, denied, lo)
	for range 10 {
		price := (lo + hi) / 2
		bought, got := work.buy(words, value, denied, price), 0.0
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
	last := 0
	for i, w := range words {
		if keep[i] {
			if b.Len() > 0 {
				if w.sentence != last {
					b.WriteByte('.')
				}
				if !(w.glued && keep[i-1]) {
					b.WriteByte(' ')
				}
			}
			b.WriteString(w.text)
			last = w.sentence
		}
	}
	return line{author: l.author, day: l.day, weight: weight, text: b.String()}, true
}
