package compaction

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
)

// A search finds what a query asks for: the passages that have the most and the rarest of its words, or, if
// it has no words, the events from one position on.
type search struct {
	query    recallQuery
	room     room
	listed   room // what the hits take that are read by position
	terms    []string
	counts   []int // for each term, how many passages have it
	passages int
	hits     []hit
	measured int // how many of the hits, the best ones, are on the shortlist
}

// A hit is a passage that has words of the query.
type hit struct {
	seq    int64
	span   span
	tokens int    // of the span in an answer, when it was measured
	mask   uint64 // bit i is set if the passage has terms[i]
}

// A room is what an answer may have.
type room struct {
	characters, tokens int
	around             int                   // the tokens of an answer's event without its text
	count              func(text string) int // the tokens of a text in an answer
}

// A span is a part of a text, in bytes, with its length in characters.
type span struct{ from, to, runes int }

func newSearch(q recallQuery, r room) *search {
	terms := extract.Terms(q.Words)
	terms = terms[:min(len(terms), maxTerms)]
	return &search{query: q, room: r, terms: terms, counts: make([]int, len(terms))}
}

// add takes in an event. It returns false if another one cannot be chosen.
func (s *search) add(seq int64, text string) bool {
	if len(s.terms) == 0 {
		h := s.hit(seq, text, s.page(seq, text), 0)
		s.hits = append(s.hits, h)
		s.listed.characters += h.span.runes
		s.listed.tokens += h.tokens
		return s.listed.characters <= s.room.characters && s.listed.tokens <= s.room.tokens
	}
	for _, p := range passagesOf(text) {
		mask := uint64(0)
		part := strings.ToLower(text[p.from:p.to])
		for i, term := range s.terms {
			if hasTerm(part, term) {
				mask |= 1 << i
				s.counts[i]++
			}
		}
		s.passages++
		if mask != 0 {
			s.hits = append(s.hits, hit{seq: seq, span: p, mask: mask})
		}
	}
	return true
}

// shortlist leaves as many of the best hits as an answer could have, and some more, since a long one may not fit. It
// returns the positions of their events, which are ascending. What they take is not known before measure.
func (s *search) shortlist() (positions []int64) {
	slices.SortStableFunc(s.hits, func(a, b hit) int { return cmp.Compare(s.score(b), s.score(a)) })
	most := 2*s.room.tokens/s.room.around + 16
	s.measured = min(most, len(s.hits))
	for _, h := range s.hits[:s.measured] {
		positions = append(positions, h.seq)
	}
	slices.Sort(positions)
	return slices.Compact(positions)
}

// measure finds out what the hits of an event take that are on the shortlist.
func (s *search) measure(seq int64, text string) {
	for i, h := range s.hits[:s.measured] {
		if h.seq == seq {
			s.hits[i] = s.hit(seq, text, h.span, h.mask)
		}
	}
}

// score says how good a hit is: it has many words, and rare ones.
func (s *search) score(h hit) (sum float64) {
	for i := range s.terms {
		if h.mask&(1<<i) != 0 {
			sum += math.Log(1 + float64(s.passages)/float64(s.counts[i]))
		}
	}
	return sum
}

// hit returns a passage of an event, as much of it as an answer may have.
func (s *search) hit(seq int64, text string, p span, mask uint64) hit {
	part := text[p.from:p.to]
	tokens := func(characters int) int { return s.room.count(part[:extract.Prefix(part, characters)]) + s.room.around }
	if n := tokens(p.runes); n <= s.room.tokens {
		return hit{seq: seq, span: p, tokens: n, mask: mask}
	}
	p.runes = max(1, sort.Search(p.runes, func(n int) bool { return tokens(n) > s.room.tokens })-1)
	p.to = p.from + extract.Prefix(part, p.runes)
	return hit{seq: seq, span: p, tokens: min(tokens(p.runes), s.room.tokens), mask: mask}
}

// page returns what is shown of an event that is read by its position: of one event as much as an answer may
// have, of one among several its beginning.
func (s *search) page(seq int64, text string) span {
	most := maxRecallEvent
	if s.query.From == s.query.To {
		most = s.room.characters - aroundEvent - utf8.RuneCountInString(gap)
	}
	skip := 0
	if seq == s.query.From {
		skip = s.query.Skip
	}
	from := extract.Prefix(text, skip)
	to := from + extract.Prefix(text[from:], most)
	return span{from: from, to: to, runes: utf8.RuneCountInString(text[from:to])}
}

// best returns by position what to show of the chosen events, the spans of each ascending; and the positions
// of events that are as good as the last of the chosen ones, and did not fit. The best passages are chosen
// first.
func (s *search) best() (chosen map[int64][]span, left []int64) {
	// Choose what fits. Events that are read by position are pages of one text, so the first that does not
	// fit ends the page.
	chosen = map[int64][]span{}
	room := s.room
	lowest := math.Inf(1) // score of the last that was chosen
	var unfit []hit
	for i, h := range s.hits {
		_, known := chosen[h.seq]
		size := h.span.runes + utf8.RuneCountInString(gap)
		if !known {
			size += aroundEvent
		}
		isMeasured := len(s.terms) == 0 || i < s.measured
		if !isMeasured || size > room.characters || h.tokens > room.tokens {
			unfit = append(unfit, h)
			if len(s.terms) == 0 {
				room.characters = 0
			}
			continue
		}
		room.characters -= size
		room.tokens -= h.tokens
		chosen[h.seq] = append(chosen[h.seq], h.span)
		lowest = min(lowest, s.score(h))
	}
	for _, spans := range chosen {
		slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	}

	// What did not fit is for the next call.
	for _, h := range unfit {
		_, shown := chosen[h.seq]
		if !shown && s.score(h) >= lowest {
			left = append(left, h.seq)
		}
	}
	slices.Sort(left)
	return chosen, slices.Compact(left)
}

// passageSize is about how many characters a passage has. A text of up to twice as many is one passage.
const passageSize = 500

// passagesOf cuts a text at the ends of lines, sentences or words.
func passagesOf(text string) (list []span) {
	for from := 0; from < len(text); {
		to := len(text)
		far := extract.Prefix(text[from:], 2*passageSize)
		if from+far < len(text) {
			near := extract.Prefix(text[from:], passageSize)
			to = from + near + cutAt(text[from+near:from+far])
		}
		list = append(list, span{from: from, to: to, runes: utf8.RuneCountInString(text[from:to])})
		from = to
	}
	return list
}

// cutAt returns where to cut a text: behind its first end of a line, or of a sentence, or of a word.
func cutAt(text string) int {
	for _, end := range []string{"\n", ". ", " "} {
		i := strings.Index(text, end)
		if i >= 0 {
			return i + len(end)
		}
	}
	return len(text)
}

// hasTerm reports whether a text in lower case has a word that begins with the term. A number must be the
// whole word.
func hasTerm(text, term string) bool {
	number := strings.Trim(term, "0123456789") == ""
	for from := 0; ; {
		i := strings.Index(text[from:], term)
		if i < 0 {
			return false
		}
		start := from + i
		end := start + len(term)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		begins := !isWord(before) || extract.Wide(before)
		ends := !number || !isWord(after)
		if begins && ends {
			return true
		}
		from = start + 1
	}
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
