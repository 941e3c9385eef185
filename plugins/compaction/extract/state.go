package extract

import (
	"encoding/json"

	"github.com/plughook/plughook/session"
)

// A State is what one compaction leaves to the next: the lines that it kept, how often terms occurred, and
// the ledger of values. The zero State is a session's beginning. Its JSON is bounded by the budget of the text
// that was made of it last, plus about 6 KB.
type State struct {
	terms  sketch
	lines  []line
	ledger ledger
}

type stateJSON struct {
	Texts  float64 `json:"texts,omitempty"`
	Terms  *sketch `json:"terms,omitempty"`
	Lines  []line  `json:"lines,omitempty"`
	Ledger *ledger `json:"ledger,omitempty"`
}

// MarshalJSON writes the state.
func (s *State) MarshalJSON() ([]byte, error) {
	j := stateJSON{Texts: s.terms.Texts, Lines: s.lines, Ledger: &s.ledger}
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
	*s = State{lines: j.Lines}
	if j.Terms != nil {
		s.terms = *j.Terms
	}
	s.terms.Texts = j.Texts
	if j.Ledger != nil {
		s.ledger = *j.Ledger
	}
	return nil
}

// Add takes in events that a compaction covers, oldest first. Events without content are skipped.
func (s *State) Add(events []*session.Event) {
	var texts []string
	for _, e := range events {
		text := e.Text()
		texts = append(texts, text)
		words, _ := split(text)
		terms := map[uint64]bool{}
		for _, w := range words {
			if w.term != 0 {
				terms[w.term] = true
			}
		}
		if len(terms) > 0 {
			s.terms.add(terms)
		}
	}
	for i, e := range events {
		s.ledger.add(e)
		if l, ok := s.shrink(e, texts[i]); ok {
			s.lines = append(s.lines, l)
		}
	}
}
