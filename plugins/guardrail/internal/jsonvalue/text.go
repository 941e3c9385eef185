package jsonvalue

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// Is reports whether a text is a JSON object or array, or several, as in JSON Lines.
func Is(text string) bool {
	if !opens(text) {
		return false
	}
	if json.Valid([]byte(text)) {
		return true
	}
	values := json.NewDecoder(strings.NewReader(text))
	for {
		var value json.RawMessage
		err := values.Decode(&value)
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil || !opens(string(value)):
			return false
		}
	}
}

// opens reports whether a text begins as an object or array does.
func opens(text string) bool {
	start := strings.TrimLeft(text, " \t\r\n")
	return start != "" && (start[0] == '{' || start[0] == '[')
}

// A Cut is a part of a text that is replaced.
type Cut struct {
	Start, End int // its bytes
	// Instead returns what stands in its place; was is the part, without JSON's escapes.
	Instead func(was string) string
}

// Edit returns a JSON text with its cuts, which are in order and apart from one another, replaced.
// The result is valid JSON, and so is what was JSON in its strings: only what strings and long
// numbers say is replaced, and a number becomes a string. A key that becomes the same as another
// key of its object gets a number.
func Edit(text string, cuts []Cut) string {
	var b strings.Builder
	var objects map[int]keySet // made with the first key that is edited
	at := 0
	for start, end := range scalars(text) {
		// Skip to the first cut that reaches into this string, number or word.
		for len(cuts) > 0 && cuts[0].End <= start {
			cuts = cuts[1:]
		}
		if len(cuts) == 0 {
			break
		}
		if cuts[0].Start >= end {
			continue
		}
		b.WriteString(text[at:start])
		at = end
		if text[start] != '"' {
			b.Write(quote(cuts[0].Instead(text[start:end])))
			continue
		}
		edited := editString(text[start+1:end-1], start+1, cuts)
		if edited != text[start:end] && isKey(text[end:]) {
			if objects == nil {
				objects = keySets(text)
			}
			edited = objects[start].rename(text[start:end], edited)
		}
		b.WriteString(edited)
	}
	b.WriteString(text[at:])
	return b.String()
}

// editString edits one string of a JSON text, given without its quotes, and returns it with them.
// begins is the string's first byte in the text, by which the cuts count.
func editString(text string, begins int, cuts []Cut) string {
	var written []byte // the edited string as JSON writes it
	var meant []byte   // the string before the edit, without escapes
	var inner []Cut    // the cuts, in meant
	at := 0
	for _, c := range cuts {
		if c.Start-begins >= len(text) {
			break
		}
		low := max(c.Start-begins, at)
		high := min(c.End-begins, len(text))
		low, high = wholeEscapes(text, at, low, high)
		if low >= high { // the cut before has taken the escape that both share
			continue
		}
		written = append(written, text[at:low]...)
		meant = append(meant, unquote(text[at:low])...)
		was := unquote(text[low:high])
		instead := quote(c.Instead(string(was)))
		written = append(written, instead[1:len(instead)-1]...)
		start := len(meant)
		meant = append(meant, was...)
		inner = append(inner, Cut{Start: start, End: len(meant), Instead: c.Instead})
		at = high
	}
	meant = append(meant, unquote(text[at:])...)
	if Is(string(meant)) { // JSON in a string stays JSON
		return string(quote(Edit(string(meant), inner)))
	}
	return `"` + string(append(written, text[at:]...)) + `"`
}

// MapStrings returns a JSON text with each of its strings, keys included, as edit returns it.
func MapStrings(text string, edit func(string) string) string {
	var b strings.Builder
	at := 0
	for start, end := range scalars(text) {
		if text[start] != '"' {
			continue
		}
		before := unquoted(text[start:end])
		after := edit(before)
		if after != before {
			b.WriteString(text[at:start])
			b.Write(quote(after))
			at = end
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

// quote returns a text as JSON; bytes that are not UTF-8 become U+FFFD.
func quote(text string) []byte {
	// it fails for what is no UTF-8 only, and has written it by then
	b, _ := jsontext.AppendQuote(nil, text)
	return b
}

// unquote returns what a part of a JSON string says. The part divides no escape.
func unquote(text string) []byte {
	b, _ := jsontext.AppendUnquote(nil, `"`+text+`"`)
	return b
}

// scalars yields where the strings, numbers and words of a JSON text begin and end.
func scalars(text string) func(yield func(start, end int) bool) {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(text); i++ {
			start := i
			switch c := text[i]; {
			case c == '"':
				for i++; i < len(text) && text[i] != '"'; i++ {
					if text[i] == '\\' {
						i++
					}
				}
			case strings.IndexByte("{}[]:, \t\r\n", c) >= 0:
				continue
			default:
				for i+1 < len(text) && strings.IndexByte("{}[]:, \t\r\n\"", text[i+1]) < 0 {
					i++
				}
			}
			if !yield(start, min(i+1, len(text))) {
				return
			}
		}
	}
}

// surrogates matches a character beyond U+FFFF, which JSON writes as two escapes.
var surrogates = lazyregexp.New(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]`)

// wholeEscapes widens the part of a string from low to high so that it divides no escape and no
// character. The string is read from a byte at which none is divided.
func wholeEscapes(text string, from, low, high int) (int, int) {
	for i := from; i < high; {
		size := escapeSize(text[i:])
		if i < low && i+size > low {
			low = i
		}
		high = max(high, i+size)
		i += size
	}
	return low, high
}

// escapeSize returns the size of the escape or the character with which a part of a JSON string
// begins.
func escapeSize(text string) int {
	switch {
	case text[0] != '\\':
		_, size := utf8.DecodeRuneInString(text)
		return size
	case text[1] != 'u':
		return 2
	case surrogates.MatchString(text[:min(12, len(text))]):
		return 12
	}
	return 6
}
