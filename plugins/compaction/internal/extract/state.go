package extract

import (
	"strings"

	"github.com/plughook/plughook/session"
)

// A State is what one compaction leaves to the next. The zero State is a session's beginning; Resume returns what
// an earlier one left, from its JSON and its text. The JSON has no words in it and is at most some 10 KB at a budget of
// 4,000 tokens.
type State struct {
	terms  sketch
	lines  []line
	ledger ledger

	stressed map[uint64]bool
}

// Add takes in events that a compaction covers, oldest first. Compactions and rewinds among them tell nothing new.
func (s *State) Add(events []*session.Event) {
	for _, e := range events {
		if e == nil || e.Marker() {
			continue
		}
		s.ledger.add(e)
		for _, t := range texts(e) {
			s.terms.add(t.words)
			s.lines = append(s.lines, line{author: t.author, day: t.day, text: t.whole, words: t.words, asks: t.asks})
		}
	}
}

// Stress makes what has these words more likely to be kept, in this generation: a user's instructions, say.
func (s *State) Stress(words string) {
	s.stressed = map[uint64]bool{}
	all, _ := split(valid(words))
	for _, w := range all {
		s.stressed[w.term] = true
	}
}

const stress = 3 // times the information of a term that is stressed

// weigh returns what a term tells.
func (s *State) weigh(term uint64) float64 {
	m := s.terms.idf(term)
	if s.stressed[term] {
		m *= stress
	}
	return m
}

// Text returns what stands for all that was added, within a budget: the prose, an empty line, and the ledger.
// count(result) ≤ budget for every count that grows with its text; the result is "" if nothing fits.
// The state forgets what it will not need again: what did not fit.
func (s *State) Text(budget int, count func(string) int) string {
	const apart = "\n\n"
	join := func(p, v string) string {
		if p == "" || v == "" {
			return p + v
		}
		return p + apart + v
	}
	places := s.ledger.rank()
	kept := fit(places, int(float64(budget)*most), count, s.ledger.draw)
	values := s.ledger.draw(kept)
	text := s.prose(budget, func(p string) int { return count(join(p, values)) }, len(kept) == len(places))
	if len(kept) < len(places) { // what the prose left
		kept = fit(places, budget, func(v string) int { return count(join(text, v)) }, s.ledger.draw)
	}
	result := join(text, s.ledger.draw(kept))
	s.ledger.forget(kept)
	return within(result, budget, count)
}

// most is the part of a budget that values may take before the prose has what it needs.
const most = 2. / 3

// Prose returns the lines within a budget as Text does, without the ledger.
func (s *State) Prose(budget int, count func(string) int) string {
	return within(s.prose(budget, count, true), budget, count)
}

// Ledger returns the values within a budget as Text does, without the prose.
func (s *State) Ledger(budget int, count func(string) int) string {
	places := s.ledger.rank()
	kept := fit(places, budget, count, s.ledger.draw)
	text := s.ledger.draw(kept)
	s.ledger.forget(kept)
	return within(text, budget, count)
}

func within(text string, budget int, count func(string) int) string {
	if count(text) > budget {
		return ""
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
