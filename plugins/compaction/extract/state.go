package extract

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plughook/plughook/session"
)

// A State is what one compaction leaves to the next: the lines and values that it kept, and how often terms occurred.
// The zero State is a session's beginning. Its JSON is about as long as the text that was made of it last, plus at
// most 8 KB.
type State struct {
	terms  sketch
	lines  []line
	ledger ledger
	favor  string

	favored map[uint64]bool // the terms in favor, once they are needed
}

type stateJSON struct {
	Texts  float64            `json:"texts,omitempty"`
	Terms  *sketch            `json:"terms,omitempty"`
	Lines  []line             `json:"lines,omitempty"`
	Favor  string             `json:"favor,omitempty"`
	Events int                `json:"events,omitempty"`
	Values []*record          `json:"values,omitempty"`
	Had    map[string]had     `json:"had,omitempty"`
	Asked  map[string][]field `json:"asked,omitempty"`
}

// MarshalJSON writes the state.
func (s *State) MarshalJSON() ([]byte, error) {
	j := stateJSON{Texts: s.terms.texts, Lines: s.lines, Favor: s.favor, Events: s.ledger.events, Values: s.ledger.records, Had: s.ledger.had, Asked: s.ledger.asked}
	if s.terms.cells != nil {
		j.Terms = &s.terms
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads a state.
func (s *State) UnmarshalJSON(data []byte) error {
	var j stateJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = State{lines: j.Lines, favor: j.Favor, ledger: ledger{events: j.Events, records: j.Values, had: j.Had, asked: j.Asked}}
	if j.Terms != nil {
		s.terms = *j.Terms
	}
	s.terms.texts = j.Texts
	s.ledger.records = slices.DeleteFunc(s.ledger.records, func(r *record) bool { return r == nil || r.Keys < 0 || r.Keys > len(r.Fields) })
	return nil
}

// Add takes in events that a compaction covers, oldest first. Compactions and rewinds among them tell nothing new.
func (s *State) Add(events []*session.Event) {
	var all []text
	for _, e := range events {
		if e == nil || e.Marker() {
			continue
		}
		s.ledger.add(e)
		for _, t := range texts(e) {
			s.terms.add(t.words)
			all = append(all, t)
		}
	}
	work := new(shop)
	for _, t := range all {
		if l, ok := s.shrink(t, work); ok {
			s.lines = append(s.lines, l)
		}
	}
}

const maxFavor = 1000 // runes of the words that are favoured

// Favor makes what has these words more likely to be kept, from now on: a user's instructions, say. It replaces what was
// favoured before.
func (s *State) Favor(words string) {
	words = valid(words)
	if utf8.RuneCountInString(words) > maxFavor {
		words = string([]rune(words)[:maxFavor])
	}
	s.favor, s.favored = words, nil
}

const prefer = 3 // times the information of a term that is favoured

// weigh returns what a term tells.
func (s *State) weigh(term uint64) float64 {
	if s.favor != "" && s.favored == nil {
		s.favored = map[uint64]bool{}
		words, _ := split(s.favor)
		for _, w := range words {
			s.favored[w.term] = true
		}
	}
	m := s.terms.idf(term)
	if s.favored[term] {
		m *= prefer
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
	places, lines := s.ledger.rank(), s.rank()
	kept := fit(places, int(float64(budget)*most), count, s.ledger.draw)
	values := s.ledger.draw(kept)
	order := fit(lines, budget, func(p string) int { return count(join(p, values)) }, s.draw)
	text := s.draw(order)
	if len(kept) < len(places) { // what the prose left
		kept = fit(places, budget, func(v string) int { return count(join(text, v)) }, s.ledger.draw)
	}
	result := join(text, s.ledger.draw(kept))
	s.prune(lines, order)
	s.ledger.prune(places, kept)
	return within(result, budget, count)
}

// most is the part of a budget that values may take before the prose has what it needs.
const most = 2. / 3

// Prose returns the lines within a budget as Text does, without the ledger.
func (s *State) Prose(budget int, count func(string) int) string {
	lines := s.rank()
	order := fit(lines, budget, count, s.draw)
	text := s.draw(order)
	s.prune(lines, order)
	return within(text, budget, count)
}

// Ledger returns the values within a budget as Text does, without the prose.
func (s *State) Ledger(budget int, count func(string) int) string {
	places := s.ledger.rank()
	kept := fit(places, budget, count, s.ledger.draw)
	text := s.ledger.draw(kept)
	s.ledger.prune(places, kept)
	return within(text, budget, count)
}

func within(text string, budget int, count func(string) int) string {
	if count(text) > budget {
		return ""
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// reserve is how many runes the state keeps in any case of each, so that one small budget does not empty it.
const reserve = 4096

// prune forgets the lines that were not drawn, the best reserve apart.
func (s *State) prune(order, drawn []int) {
	keep, size := make([]bool, len(s.lines)), 0
	for _, i := range drawn {
		keep[i] = true
		size += len(s.lines[i].text) + 4
	}
	for _, i := range order {
		if !keep[i] && size < reserve {
			keep[i] = true
			size += len(s.lines[i].text) + 4
		}
	}
	var lines []line
	for i, l := range s.lines {
		if keep[i] {
			lines = append(lines, l)
		}
	}
	s.lines = lines
}
