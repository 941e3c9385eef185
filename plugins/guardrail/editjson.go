package guardrail

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// isJSON reports whether a text is a JSON object or array.
func isJSON(text string) bool {
	start := strings.TrimLeft(text, " \t\r\n")
	return start != "" && (start[0] == '{' || start[0] == '[') && json.Valid([]byte(text))
}

// editedJSON is edited for a text that is JSON itself, and stays it: in strings and long numbers only what they hold is
// replaced, and a number becomes a string.
func (p *Policy) editedJSON(text string, list []cut) string {
	var b strings.Builder
	at := 0
	for start, end := range scalars(text) {
		quoted := text[start] == '"'
		from, to := start, end
		if quoted {
			from, to = start+1, end-1
		}
		wrote := at
		for len(list) > 0 && list[0].end <= from {
			list = list[1:]
		}
		known := from // no escape is divided here
		for _, c := range list {
			lo, hi := max(c.start, from), min(c.end, to)
			if lo >= hi {
				break
			}
			if quoted {
				lo, hi = escapes(text, known, lo, hi)
				known = max(known, hi)
			} else {
				lo, hi = from, to
			}
			if lo < wrote { // of an escape, or a number, that two cuts share, the first has taken all
				lo = wrote
			}
			if lo >= hi {
				continue
			}
			b.WriteString(text[wrote:lo])
			var made strings.Builder
			p.instead(&made, c, text[lo:hi])
			instead, _ := jsontext.AppendQuote(nil, made.String()) // what is no UTF-8 becomes U+FFFD
			if quoted {
				instead = instead[1 : len(instead)-1]
			}
			b.Write(instead)
			wrote = hi
		}
		at = wrote
	}
	b.WriteString(text[at:])
	return b.String()
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

// escapes widens a part of the string that begins at from, so that it divides no escape.
func escapes(text string, from, lo, hi int) (int, int) {
	for i := from; i < hi; {
		n := 1
		if text[i] == '\\' {
			if n = 2; text[i+1] == 'u' {
				n = 6
			}
		} else {
			_, n = utf8.DecodeRuneInString(text[i:])
		}
		if i < lo && i+n > lo {
			lo = i
		}
		hi = max(hi, i+n)
		i += n
	}
	return lo, hi
}
