package extract

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plughook/plughook/session"
)

// A line is what is kept of one text: the words that carry most of what it tells.
type line struct {
	Day    string  `json:"d,omitempty"` // of the event, as 2006-01-02
	Author string  `json:"a"`
	Weight float64 `json:"w"` // of the text's kind: what it says of the speaker, of times, numbers and names
	Text   string  `json:"t"`
}

// shrink returns the line of an event, given the sketch that weighs its words; ok is false if nothing of it
// is worth keeping.
func (s *State) shrink(e *session.Event, text string) (line, bool) {
	words, asks := split(text)
	type chance struct {
		at    int
		value float64 // per rune
		mass  float64
	}
	var chances []chance
	seen := map[uint64]bool{}
	total, weight := 0.0, 1.0
	facts := map[string]bool{}
	for i, w := range words {
		switch {
		case own[w.plain]:
			facts["own"] = true
		case times[w.plain]:
			facts["time"] = true
		}
		if w.name {
			facts["name"] = true
		}
		if w.quoted {
			facts["quoted"] = true
		}
		if w.term == 0 || seen[w.term] {
			continue
		}
		seen[w.term] = true
		m := s.terms.idf(w.term)
		total += m
		v := m
		if asks[w.sentence] {
			v *= tune("ask", 0.7)
		}
		if w.name || times[w.plain] {
			v *= tune("name", 1.3)
		}
		chances = append(chances, chance{i, v / float64(utf8.RuneCountInString(w.text)+1), m})
	}
	if len(chances) == 0 {
		return line{}, false
	}
	for f := range facts {
		weight *= tune(f, 1.5)
	}
	slices.SortStableFunc(chances, func(a, b chance) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return a.at - b.at
	})
	keep := make([]bool, len(words))
	got := 0.0
	for _, c := range chances {
		if got >= tune("share", 0.64)*total {
			break
		}
		keep[c.at] = true
		got += c.mass
	}
	var b strings.Builder
	for i, w := range words {
		if keep[i] {
			if b.Len() > 0 && !(w.glued && keep[i-1]) {
				b.WriteByte(' ')
			}
			b.WriteString(w.text)
		}
	}
	l := line{Author: e.Author, Text: b.String(), Weight: weight * math.Pow(total, tune("alpha", 1.2))}
	if !e.Timestamp.IsZero() {
		l.Day = e.Timestamp.Format("2006-01-02")
	}
	return l, true
}
