package extract

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// A State is what one compaction leaves to the next. The zero State is the beginning of a session; Resume
// returns the State of an earlier compaction from its JSON and its text. The JSON contains no words, and has
// at most about 10 KB at a budget of 4,000 tokens.
type State struct {
	terms     sketch
	sentences []sentence
	ledger    ledger

	texts    int             // how many were added
	stressed map[uint64]bool // terms that Stress has named
}

// valuesRoom returns the part of a budget that the ledger may take before the prose is written: two thirds of
// a small one. What later calls need does not grow with the budget, so it is a sixth of what a large one has
// more.
func valuesRoom(budget int) int { return min(budget*2/3, 256+budget/6) }

// valuesShareAsked is the divisor for the part that they may take if instructions say what to keep.
const valuesShareAsked = 3

// valuesSharePasted is the divisor for the part that those of long texts and tables may make the values take.
const valuesSharePasted = 12

// Add takes in the events that a compaction covers, oldest first. It ignores compactions and rewinds among
// them.
func (s *State) Add(events []*session.Event) {
	for _, e := range events {
		if e == nil || e.Marker() {
			continue
		}
		s.ledger.add(e)
		for _, t := range texts(e) {
			s.addText(t)
		}
	}
}

// addText takes in a text: it counts its terms, and cuts it into sentences.
func (s *State) addText(whole sentence) {
	words := split(whole.text)
	for passage := range slices.Chunk(words, counted) {
		s.terms.add(passage)
	}
	s.addSentences(whole, words)
}

// addSentences cuts a text into sentences, which are not weighed yet.
func (s *State) addSentences(whole sentence, words []word) {
	s.texts++
	whole.source = s.texts
	for _, text := range sentences(whole.text, words) {
		whole.text = text
		s.sentences = append(s.sentences, whole)
	}
}

// Stress makes sentences and values with these words the first to be kept, until the State is stored. The
// words may be a user's instructions.
func (s *State) Stress(words string) {
	s.stressed = map[uint64]bool{}
	for _, w := range split(valid(words)) {
		s.stressed[w.term] = w.term != 0
	}
	s.ledger.stressed = s.stressed
}

// Text returns what stands for everything that was added: the prose, an empty line, and the ledger. It
// satisfies count(result) ≤ budget for every count that does not shrink when its text grows. The result is ""
// if nothing fits. The State forgets what did not fit.
func (s *State) Text(budget int, count func(string) int) string {
	// First the values, in their share of the budget.
	room := valuesRoom(budget)
	if len(s.stressed) > 0 {
		room = min(room, budget/valuesShareAsked)
	}
	first, last := s.ledger.rank()
	ranked := append(first, last...)
	kept := fit(first, room, count, s.ledger.draw)
	allFit := len(kept) == len(first)
	if allFit {
		room = max(budget/valuesSharePasted, count(s.ledger.draw(kept)))
		kept = fit(ranked, room, count, s.ledger.draw)
	}
	values := s.ledger.draw(kept)

	// Then the prose, beside these values.
	besideValues := func(prose string) int { return count(join(prose, values)) }
	prose := s.prose(budget, besideValues)

	// Then more values, if the prose has left room.
	if len(kept) < len(ranked) {
		besideProse := func(values string) int { return count(join(prose, values)) }
		kept = fit(ranked, budget, besideProse, s.ledger.draw)
	}
	text := join(prose, s.ledger.draw(kept))
	s.ledger.forget(kept)
	return within(text, budget, count)
}

// Ledger returns the ledger alone, within a budget, under the same conditions as Text.
func (s *State) Ledger(budget int, count func(string) int) string {
	first, last := s.ledger.rank()
	kept := fit(append(first, last...), budget, count, s.ledger.draw)
	text := s.ledger.draw(kept)
	s.ledger.forget(kept)
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

// within returns the text as valid UTF-8, or "" if it does not fit.
func within(text string, budget int, count func(string) int) string {
	if count(text) > budget {
		return ""
	}
	return valid(text)
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// fit returns the items, given best first, that fit into a budget when draw writes them: as many of the best
// as possible, and then those of the next few that still fit.
func fit[T any](items []T, budget int, count func(string) int, draw func([]T) string) []T {
	size := func(n int) int { return count(draw(items[:n])) }

	// fits is a number of items that fits and tooMany one that does not, with the sizes of both.
	fits := 0
	sizeFits := size(0)
	tooMany := len(items)
	sizeTooMany := size(len(items))
	if sizeTooMany <= budget {
		return items
	}
	if sizeFits > budget {
		return nil
	}

	// Search between the two. The first steps guess that all items have the same size, and aim a little
	// beside the guess, on the side of the larger interval; later steps halve the interval.
	for step := 0; tooMany-fits > 1; step++ {
		mid := (fits + tooMany) / 2
		if step < 4 && sizeTooMany > sizeFits {
			part := float64(budget-sizeFits) / float64(sizeTooMany-sizeFits)
			mid = fits + int(float64(tooMany-fits)*part)
			if tooMany == len(items) || tooMany-mid > mid-fits {
				mid += 2
			} else {
				mid -= 2
			}
			mid = min(max(mid, fits+1), tooMany-1)
		}
		n := size(mid)
		if n <= budget {
			fits = mid
			sizeFits = n
		} else {
			tooMany = mid
			sizeTooMany = n
		}
	}

	// Shorter items among the next ones may still fit.
	const next = 3
	kept := items[:fits:fits]
	for i := fits + 1; i < min(fits+1+next, len(items)); i++ {
		more := append(kept[:len(kept):len(kept)], items[i])
		if count(draw(more)) <= budget {
			kept = more
		}
	}
	return kept
}
