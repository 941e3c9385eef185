// Package escape writes JSON for people's terminals.
//
// To have another character escaped, add it to the ones that next looks for.
package escape

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// JSON returns a JSON text with the same value in which no character can steer a terminal: DEL, the
// control characters from U+0080 to U+009F, which JSON allows in strings, and the characters that
// change the direction of text are written as \uXXXX. It may be several values, a line each. The text
// itself is returned if it has none of these.
func JSON(text []byte) []byte {
	i := next(text, 0)
	if i == len(text) {
		return text
	}
	escaped := make([]byte, 0, len(text)+64)
	from := 0
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		escaped = append(escaped, text[from:i]...)
		escaped = fmt.Appendf(escaped, `\u%04x`, r)
		from = i + size
		i = next(text, from)
	}
	return append(escaped, text[from:]...)
}

// next returns where the next character is that is to be escaped, at or after i; the text's length if
// there is none.
func next(text []byte, i int) int {
	for i < len(text) {
		if text[i] < 0x7f { // in JSON these are printable, or between values
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if steers(r) || r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return i
}

// steers reports whether a terminal may take a character for a command, or change the direction of
// text.
func steers(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Writer returns a writer of JSON that writes each text as JSON returns it. A character must not be
// split between two texts.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

// Write implements io.Writer.
func (w writer) Write(text []byte) (int, error) {
	if _, err := w.to.Write(JSON(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}
