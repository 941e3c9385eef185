package extract

import (
	"encoding/binary"
	"encoding/json"
	"sort"
	"strings"

	"github.com/plughook/plughook/session"
)

// A State is what one compaction leaves to the next. The zero State is the beginning of a session; Resume
// returns the State of an earlier compaction from its JSON and its text.
type State struct {
	sentences []sentence
	ledger    ledger
	stressed  map[string]bool // stems of words that Stress has named
}

// Add takes in the events that a compaction covers, oldest first. It ignores compactions and rewinds among
// them.
func (s *State) Add(events []*session.Event) {
	for _, e := range WithoutForged(events) {
		if e == nil || e.Marker() {
			continue
		}
		s.ledger.add(e)
		s.sentences = append(s.sentences, sentencesOf(e)...)
	}
}

// AddValues takes in the values of events of which a prompt has less than the whole, so that later calls have
// them. Their prose is not taken in before a compaction covers them.
func (s *State) AddValues(events []*session.Event) {
	for _, e := range events {
		s.ledger.add(e)
	}
}

// Stress makes sentences and values with these words the first to be kept, until the State is stored. The
// words may be a user's instructions.
func (s *State) Stress(words string) {
	s.stressed = map[string]bool{}
	for _, w := range wordsOf(nil, valid(words)) {
		s.stressed[w.stem] = w.stem != ""
	}
	s.ledger.stressed = s.stressed
}

// Text returns what stands for everything that was added: the prose, an empty line, and the ledger. It
// satisfies count(result) ≤ budget for every count that does not shrink when its text grows. The result is ""
// if nothing fits. The State forgets what did not fit.
func (s *State) Text(budget int, count func(string) int) string {
	// First the values: three quarters of a small budget. What later calls need does not grow with the budget, so
	// it is a sixth of what a large one has more.
	room := min(budget*3/4, 256+budget/6)
	if len(s.stressed) > 0 {
		room = min(room, budget/3)
	}
	ranked, pasted := s.ledger.rank()
	values := s.ledger.draw(fit(ranked, room, count, s.ledger.draw))

	// Then the prose, beside these values.
	besideValues := func(prose string) int { return count(join(prose, values)) }
	prose := s.prose(budget, besideValues)

	// Then as many values as the prose has left room for.
	besideProse := func(values string) int { return count(join(prose, values)) }
	kept := fit(append(ranked, pasted...), budget, besideProse, s.ledger.draw)
	text := join(prose, s.ledger.draw(kept))
	s.ledger.keep(kept)
	return within(text, budget, count)
}

// Ledger returns the ledger alone, within a budget, under the same conditions as Text.
func (s *State) Ledger(budget int, count func(string) int) string {
	ranked, pasted := s.ledger.rank()
	kept := fit(append(ranked, pasted...), budget, count, s.ledger.draw)
	text := s.ledger.draw(kept)
	s.ledger.keep(kept)
	return within(text, budget, count)
}

// apart separates the prose from the ledger.
const apart = "\n\n"

func join(prose, values string) string {
	if prose == "" || values == "" {
		return prose + values
	}
	return prose + apart + values
}

// Split cuts a text into prose and ledger. The text may be from State.Text, or any prose followed by an empty
// line and the result of State.Ledger.
func Split(text string) (prose, ledger string) {
	if strings.HasPrefix(text, header+"\n") {
		return "", text
	}
	i := strings.LastIndex(text, apart+header+"\n")
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+len(apart):]
}

// Prose returns a text of words of its own in which Split finds no ledger.
func Prose(text string) string {
	if strings.HasPrefix(text, header+"\n") {
		text = "Summary: " + text
	}
	for strings.Contains(text, apart+header+"\n") {
		text = strings.ReplaceAll(text, apart+header+"\n", "\n"+header+"\n")
	}
	return text
}

// within returns the text as valid UTF-8, or "" if it does not fit.
func within(text string, budget int, count func(string) int) string {
	if count(text) > budget {
		return ""
	}
	return valid(text)
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// fit returns as many of the items, given best first, as fit into a budget when draw writes them.
func fit[T any](items []T, budget int, count func(string) int, draw func([]T) string) []T {
	tooMany := func(n int) bool { return count(draw(items[:n])) > budget }
	if !tooMany(len(items)) {
		return items
	}
	return items[:max(0, sort.Search(len(items), tooMany)-1)]
}

// stateJSON is how a State is stored beside its text. It has no words.
type stateJSON struct {
	Lines  []byte `json:"lines,omitempty"`  // the flags of each sentence, in the order of the text
	Events int    `json:"events,omitempty"` // how many were taken in so far
	Values []byte `json:"values,omitempty"` // two bytes for each head and value of the ledger: its age in events, and whether it was used
}

// Flags of a sentence in stateJSON.
const (
	flagAnswers = 1
	flagLong    = 2
)

// MarshalJSON writes what Resume needs besides the text. It contains nothing of what was said.
func (s *State) MarshalJSON() ([]byte, error) {
	j := stateJSON{Events: s.ledger.events}
	for _, sen := range s.sentences {
		flags := byte(0)
		if sen.answers {
			flags |= flagAnswers
		}
		if sen.long {
			flags |= flagLong
		}
		j.Lines = append(j.Lines, flags)
	}
	for _, f := range s.ledger.all() {
		h := s.ledger.history[f.key()]
		n := uint16(min(s.ledger.events-h.seen, 1<<14)) << 1
		if h.used {
			n |= 1
		}
		j.Values = binary.LittleEndian.AppendUint16(j.Values, n)
	}
	return json.Marshal(j)
}

// Resume returns the State that a compaction left. data is the State's JSON, and text is the text of the
// compaction as it is stored. Words count only if the text still has them. If data is missing, broken, or
// belongs to another text, the sentences and values of the text count as new.
func Resume(data []byte, text string) *State {
	var j stateJSON
	if err := json.Unmarshal(data, &j); err != nil {
		j = stateJSON{}
	}
	prose, values := Split(valid(text))
	s := &State{}
	parsed := parseSentences(prose)
	for i, sen := range parsed {
		if len(j.Lines) == len(parsed) {
			sen.answers = j.Lines[i]&flagAnswers != 0
			sen.long = j.Lines[i]&flagLong != 0
			s.sentences = append(s.sentences, sen)
			continue
		}
		for _, text := range sentences(sen.text) { // a model's text, for example
			sen.text = text
			s.sentences = append(s.sentences, sen)
		}
	}

	l := &s.ledger
	l.events = min(max(0, j.Events), 1<<40)
	l.records = parseRecords(values)
	l.history = map[string]history{}
	all := l.all()
	for n, f := range all {
		h := history{seen: l.events}
		if len(j.Values) == 2*len(all) {
			stored := binary.LittleEndian.Uint16(j.Values[2*n:])
			h.seen -= int(stored >> 1)
			h.used = stored&1 == 1
		}
		l.history[f.key()] = h
	}
	return s
}
