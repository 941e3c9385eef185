package extract

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// prose returns the sentences that fit into a budget, each said once, and forgets the others.
func (s *State) prose(budget int, count func(string) int) string {
	s.weigh()
	s.sentences = withoutRepeats(s.sentences)
	text := drawSentences(s.sentences)
	if count(text) <= budget {
		return text
	}

	// Choose the best.
	choose := func(order []int) []sentence {
		kept := make([]sentence, len(order))
		for i, index := range slices.Sorted(slices.Values(order)) {
			kept[i] = s.sentences[index]
		}
		return kept
	}
	draw := func(order []int) string { return drawSentences(choose(order)) }
	tooMany := func(order []int) bool { return count(draw(order)) > budget }
	order := s.newRanking().choose(tooMany)
	s.sentences = choose(fit(order, budget, count, draw))
	return drawSentences(s.sentences)
}

// betweenSentences separates the sentences of a row. No text has two spaces in a row, so Resume finds the
// sentences again. Summaries that are older have a semicolon instead.
const (
	betweenSentences = "  "
	betweenClauses   = "; "
)

// drawSentences writes sentences: the day where it changes, and the author where that changes, in full the
// first time and abbreviated later.
func drawSentences(list []sentence) string {
	const nobody = "\x00"
	abbreviations := map[string]string{} // by author
	day := ""
	author := nobody
	year := 0
	var b strings.Builder
	b.Grow(len(list) * 80)
	for _, sen := range list {
		if sen.day != day && sen.day != "" {
			day = sen.day
			author = nobody
			t, _ := time.Parse(time.DateOnly, day)
			b.WriteString("\n[" + t.Format("2 Jan"))
			if t.Year() != year {
				year = t.Year()
				b.WriteString(t.Format(" 2006"))
			}
			b.WriteByte(']')
		}
		if sen.author == author {
			b.WriteString(betweenSentences)
		} else {
			author = sen.author
			b.WriteByte('\n')
			short, known := abbreviations[author]
			switch {
			case known:
				b.WriteString(short + ": ")
			case author != "":
				abbreviations[author] = abbreviate(author, abbreviations)
				b.WriteString(author + ": ")
			}
		}
		b.WriteString(sen.text)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// abbreviate returns an author's initial, or the whole name of a tool or if another author has the initial.
func abbreviate(author string, abbreviations map[string]string) string {
	if strings.HasSuffix(author, "()") {
		return author
	}
	first, _ := utf8.DecodeRuneInString(author)
	for _, taken := range abbreviations {
		if taken == string(first) {
			return author
		}
	}
	return string(first)
}

// parseSentences reads prose as drawSentences writes it. It reads any other text too, as sentences.
func parseSentences(prose string) (list []sentence) {
	abbreviations := map[string]string{} // by author
	day := ""
	year := ""
	for row := range strings.SplitSeq(prose, "\n") {
		if row == "" {
			continue
		}

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

		// Any other row is what one author has said. The author is named in full the first time.
		author, rest, named := strings.Cut(row, ": ")
		full := expand(author, abbreviations)
		switch {
		case !named:
			author = ""
			rest = row
		case full != "":
			author = full
		default:
			abbreviations[author] = abbreviate(author, abbreviations)
		}
		for _, text := range Statements(rest) {
			list = append(list, sentence{author: author, day: day, text: text})
		}
	}
	return list
}

// Statements returns the sentences of a row of a summary, or the clauses of one that is older.
func Statements(row string) (list []string) {
	for part := range strings.SplitSeq(row, betweenSentences) {
		for text := range strings.SplitSeq(part, betweenClauses) {
			if text = strings.TrimSpace(text); text != "" {
				list = append(list, finished(text))
			}
		}
	}
	return list
}

// expand returns the author with an abbreviation or a full name, "" if none has it.
func expand(name string, abbreviations map[string]string) string {
	for author, short := range abbreviations {
		if short == name || author == name {
			return author
		}
	}
	return ""
}
