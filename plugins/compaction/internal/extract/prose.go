package extract

import (
	"slices"
	"strings"
	"time"
)

// prose returns the sentences that fit into a budget, each said once, and forgets the others.
func (s *State) prose(budget int, count func(string) int) string {
	markAnswers(s.sentences)
	s.sentences = withoutRepeats(s.sentences)
	text := drawSentences(s.sentences)
	if count(text) <= budget {
		return text
	}

	// Choose the best, more and more until they are too many.
	some := func(order []int) []sentence {
		kept := make([]sentence, len(order))
		for i, index := range slices.Sorted(slices.Values(order)) {
			kept[i] = s.sentences[index]
		}
		return kept
	}
	draw := func(order []int) string { return drawSentences(some(order)) }
	r := s.newRanking()
	for n := 64; n == 64 || len(r.chosen) == n/2 && count(draw(r.chosen)) <= budget; n *= 2 {
		r.choose(n)
	}
	s.sentences = some(fit(r.chosen, budget, count, draw))
	return drawSentences(s.sentences)
}

// betweenSentences separates the sentences of a row. No text has two spaces in a row, so Resume finds the
// sentences again.
const betweenSentences = "  "

// drawSentences writes sentences: the day where it changes, and the author where that changes.
func drawSentences(list []sentence) string {
	known := initials{}
	day := ""
	year := 0
	var b strings.Builder
	b.Grow(len(list) * 80)
	for i, sen := range list {
		newDay := sen.day != day && sen.day != ""
		if newDay {
			day = sen.day
			t, _ := time.Parse(time.DateOnly, day)
			layout := "[2 Jan]\n"
			if t.Year() != year {
				year = t.Year()
				layout = "[2 Jan 2006]\n"
			}
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t.Format(layout))
		}
		switch {
		case !newDay && i > 0 && sen.author == list[i-1].author:
			b.WriteString(betweenSentences)
		case !newDay && i > 0:
			b.WriteByte('\n')
			fallthrough
		default:
			if sen.author != "" {
				b.WriteString(known.abbreviate(sen.author) + ": ")
			}
		}
		b.WriteString(sen.text)
	}
	return b.String()
}

// initials has the author that each initial stands for. An author is named in full the first time; a tool
// always is, and who has the initial of another author.
type initials map[string]string

// abbreviate returns how an author is named next.
func (known initials) abbreviate(author string) string {
	initial := author[:Prefix(author, 1)]
	switch {
	case strings.HasSuffix(author, "()"):
	case known[initial] == author:
		return initial
	case known[initial] == "":
		known[initial] = author
	}
	return author
}

// parseSentences reads prose as drawSentences writes it. It reads any other text too, as sentences.
func parseSentences(prose string) (list []sentence) {
	known := initials{}
	day := ""
	year := ""
	for row := range strings.SplitSeq(prose, "\n") {
		// A row in brackets is the day of the rows after it; the year is left out if it is the same.
		if date, ok := strings.CutPrefix(strings.TrimSuffix(row, "]"), "["); ok {
			if strings.Count(date, " ") == 1 {
				date += " " + year
			}
			if t, err := time.Parse("2 Jan 2006", date); err == nil {
				day = t.Format(time.DateOnly)
				year = t.Format("2006")
				continue
			}
		}

		// Any other row is what one author has said.
		author, rest, named := strings.Cut(row, ": ")
		if !named {
			author = ""
			rest = row
		} else if full, ok := known[author]; ok {
			author = full
		} else {
			known.abbreviate(author)
		}
		for _, text := range Statements(rest) {
			list = append(list, sentence{author: author, day: day, text: text})
		}
	}
	return list
}

// Statements returns the sentences of a row of a summary.
func Statements(row string) (list []string) {
	for text := range strings.SplitSeq(row, betweenSentences) {
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, finished(text))
		}
	}
	return list
}
