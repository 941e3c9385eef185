package guardrail

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// isJSON reports whether a text is a JSON object or array, or several, as in JSON Lines.
func isJSON(text string) bool {
	if !begins(text) || json.Valid([]byte(text)) {
		return begins(text)
	}
	values := json.NewDecoder(strings.NewReader(text))
	for {
		var value json.RawMessage
		switch err := values.Decode(&value); {
		case errors.Is(err, io.EOF):
			return true
		case err != nil || !begins(string(value)):
			return false
		}
	}
}

// begins reports whether a text begins as an object or array does.
func begins(text string) bool {
	start := strings.TrimLeft(text, " \t\r\n")
	return start != "" && (start[0] == '{' || start[0] == '[')
}

// editedJSON is edited for a text that is JSON itself, and stays it, and so does what is JSON in its strings: in strings
// and long numbers only what they hold is replaced, and a number becomes a string. A key that becomes the same as another
// of its object gets a number.
func (p *Policy) editedJSON(text string, list []cut) string {
	var b strings.Builder
	var objects map[int]names // by where their keys begin, once one is edited
	at := 0
	for start, end := range scalars(text) {
		for len(list) > 0 && list[0].end <= start {
			list = list[1:]
		}
		if len(list) == 0 {
			break
		}
		if list[0].start >= end {
			continue
		}
		b.WriteString(text[at:start])
		at = end
		if text[start] != '"' {
			b.Write(asJSON(p.instead(list[0], text[start:end])))
			continue
		}
		by := p.editedString(text[start+1:end-1], start+1, list)
		if by != text[start:end] && isKey(text[end:]) {
			if objects == nil {
				objects = objectsIn(text)
			}
			by = objects[start].rename(text[start:end], by)
		}
		b.WriteString(by)
	}
	b.WriteString(text[at:])
	return b.String()
}

// editedString is the string that begins at a byte of a JSON text, without its quotes, as it is to stand there instead,
// with them.
func (p *Policy) editedString(text string, begins int, list []cut) string {
	var b, inner []byte // as it is written, and what that is
	var within []cut    // of inner
	at := 0
	for _, c := range list {
		lo, hi := max(c.start-begins, at), min(c.end-begins, len(text))
		if c.start-begins >= len(text) {
			break
		}
		if lo, hi = escapes(text, at, lo, hi); lo >= hi { // of an escape that two cuts share, the first has taken all
			continue
		}
		b = append(b, text[at:lo]...)
		inner = append(inner, fromJSON(text[at:lo])...)
		was := fromJSON(text[lo:hi])
		instead := asJSON(p.instead(c, string(was)))
		b = append(b, instead[1:len(instead)-1]...)
		in := c
		in.start = len(inner)
		inner = append(inner, was...)
		in.end = len(inner)
		by := *c.by // which the verdict has, too
		by.Start, by.End = by.Start-c.start+in.start, by.End-c.end+in.end
		in.by = &by
		within = append(within, in)
		at = hi
	}
	if inner = append(inner, fromJSON(text[at:])...); isJSON(string(inner)) {
		return string(asJSON(p.editedJSON(string(inner), within)))
	}
	return `"` + string(append(b, text[at:]...)) + `"`
}

// asJSON returns a text as JSON; what is no UTF-8 becomes U+FFFD.
func asJSON(text string) []byte {
	b, _ := jsontext.AppendQuote(nil, text)
	return b
}

// fromJSON returns what a part of a JSON string says, that divides no escape.
func fromJSON(text string) []byte {
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

// surrogates matches a character beyond U+FFFF in escapes.
var surrogates = regexp.MustCompile(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]`)

// escapes widens a part of a string so that it divides no escape; none is divided at from.
func escapes(text string, from, lo, hi int) (int, int) {
	for i := from; i < hi; {
		n := 1
		if text[i] == '\\' {
			if n = 2; text[i+1] == 'u' {
				if n = 6; surrogates.MatchString(text[i:min(i+12, len(text))]) {
					n = 12
				}
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
