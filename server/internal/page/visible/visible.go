// Package visible makes texts safe to read for people. A model, a tool or a user may write characters that are not seen, or
// that change the order of those around them; they become pieces of their own, which the page draws as chips.
//
// It makes no HTML: pieces are plain text, and the page's templates escape them. Another kind of character that is not to
// be seen as it is: a case of hidden.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Piece is a part of a text.
type Piece struct {
	Text string
	// Kind says how it is drawn: "" as it is; "ctrl", a name for a character that is not seen; "ins", what was put in the
	// place of something; "gone", words about something that is not there.
	Kind string
}

// Pieces returns a text in pieces, cut to so many characters. cut says that there is more.
func Pieces(text string, most int) (list []Piece, cut bool) {
	begin := 0
	add := func(from, to int) {
		if from < to {
			list = append(list, Piece{Text: text[from:to]})
		}
	}
	n := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if n == most {
			add(begin, i)
			return list, true
		}
		n++
		if r != utf8.RuneError && !hidden(r) {
			i += size
			continue
		}

		// A character that is not seen: its name, once for many of the same.
		add(begin, i)
		name := fmt.Sprintf("U+%04X", r)
		if r == utf8.RuneError && size == 1 {
			name = fmt.Sprintf("0x%02X", text[i])
		}
		same := text[i : i+size]
		count := 0
		for strings.HasPrefix(text[i:], same) {
			i += size
			count++
		}
		if count > 1 {
			name += fmt.Sprintf(" ×%d", count)
		}
		if r == utf8.RuneError && size > 1 { // the replacement character itself is seen
			list = append(list, Piece{Text: strings.Repeat(same, min(count, most))})
		} else {
			list = append(list, Piece{Text: name, Kind: "ctrl"})
		}
		begin = i
	}
	add(begin, len(text))
	return list, false
}

// Line returns the beginning of a text on one line.
func Line(text string, most int) []Piece {
	// What is beyond the cut is not looked at: a text may have megabytes.
	if len(text) > 8*most {
		text = strings.ToValidUTF8(text[:8*most], "")
	}
	list, cut := Pieces(strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r == ' ' || r == '\n' || r == '\t' || r == '\r'
	}), " "), most)
	if cut {
		list = append(list, Piece{Text: "…"})
	}
	return list
}

// Mark returns the pieces with each of the words as a piece of the kind "ins".
func Mark(list []Piece, words []string) []Piece {
	for _, word := range words {
		var marked []Piece
		for _, p := range list {
			for p.Kind == "" && word != "" {
				before, after, found := strings.Cut(p.Text, word)
				if !found {
					break
				}
				if before != "" {
					marked = append(marked, Piece{Text: before})
				}
				marked = append(marked, Piece{Text: word, Kind: "ins"})
				p.Text = after
			}
			if p.Text != "" {
				marked = append(marked, p)
			}
		}
		list = marked
	}
	return list
}

// hidden reports whether a character is not seen, or moves others.
func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\u200c', r == '\u200d': // the last two join letters and pictures
		return false
	case r == '\u2028', r == '\u2029', r == '\u3164', r == '\u115f', r == '\u1160', r == '\uffa0':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}
