// Package links finds the links in a text and holds them to a list of what is allowed. The case to think of is a text
// that carries data away: an image whose address has a secret in it is fetched by who merely looks at the text.
//
// Found are addresses with a scheme and slashes, backslashes among them (https:\\host), or of the web without slashes
// before what looks like a host (https:host.example), the backslashes of Markdown among them (https\://host); data:, javascript:, vbscript:, blob: and mailto: addresses; addresses
// without a scheme where Markdown or HTML has one (![x]( //host/y ), src=//host, a srcset, a refresh), with the spaces that
// browsers pass over; and bare hosts of well-known top-level domains (www.host.example/path, host.com). In a quoted attribute
// of a tag, tabs and line ends are part of an address, as they are to browsers, which drop them. Relative addresses lead
// nowhere else and are none.
//
// The limits: a host without a scheme of a top-level domain that is not in the list of this package is not found, nor
// one whose ending is rather a file's (main.rs, README.md) unless a path follows; an address longer than 2,048 bytes is found
// up to there; what is disguised is found in the views of package view.
package links

import "strings"

// longest is how long a link may be, in bytes; a host, and a scheme.
const (
	longest       = 2048
	longestHost   = 253
	longestLabel  = 63
	longestScheme = 32
)

// A Link is an address in a text, at its bytes Start to End.
type Link struct {
	Start, End int
	// Loaded says that showing the text fetches the address, without a click: an image, a style, a frame.
	Loaded bool
}

// Find appends the links in text to found, in order and without overlaps, and returns the extended slice. It allocates
// nothing if there are none.
func Find(found []Link, text string) []Link {
	found, _ = find(found, text, true)
	return found
}

// Open returns how much of text is settled: however it goes on, the links that begin before Open are those that
// Find finds now, and end there or before. It never decreases as text grows. Held is a link that may go on, or the
// last word, which may be the beginning of one.
func Open(text string) int {
	_, open := find(nil, text, false)
	return open
}

// find goes over a text word by word; a word is of the characters of hosts.
func find(found []Link, text string, keep bool) ([]Link, int) {
	open := len(text)
	var t tag
	for i := 0; i < len(text); {
		start := -1
		end := i
		c := text[i]
		spread, unsure := false, false
		if t.quote != 0 && (alnum(c) || c == '/' || c == '\\') {
			if spread, unsure = t.spread(text, i); unsure {
				open = min(open, i)
			}
		}
		switch {
		case spread:
			start, end = i, i+1
		case inHost[c] != 0:
			kinds := byte(0)
			for end < len(text) && inHost[text[end]] != 0 {
				kinds |= inHost[text[end]]
				end++
			}
			after := colon(text, end)
			if after > end || kinds&dot != 0 {
				start, unsure = address(text, i, end)
			}
			if end == len(text) || text[end:] == `\` || after > end && (unsure || slashes(text, after) == len(text)) {
				open = min(open, wordOpen(text[:end], i))
			}
		case c == '/' || c == '\\':
			end++
			if t.attributed(text, i) {
				n := slashes(text, i)
				if n == len(text) {
					open = min(open, i)
				} else if n-i >= 2 && follows(text, n) {
					start = i
				}
				end = n
			}
		default:
			t.see(text, i)
			i++
			continue
		}
		if start < 0 {
			i = end
			continue
		}
		stop, more := t.extent(text, start, max(end, start+1))
		if more {
			open = min(open, start)
		}
		trimmed := stop - start
		if trimmed < longest { // of one that is cut off nobody knows what its end is
			trimmed = trim(text[start:stop])
		}
		if keep && trimmed > 0 {
			found = append(found, Link{Start: start, End: start + trimmed, Loaded: t.list || loaded(text, start)})
		}
		i = stop
	}
	return found, open
}

// inHost marks the characters of a word, and among them the dot.
var inHost = func() (t [256]byte) {
	for c := range t {
		if alnum(byte(c)) || c == '-' || c == '_' {
			t[c] = 1
		}
	}
	t['.'] = dot
	return t
}()

// address returns where a link begins that has the word from i to end in it: its scheme, or host; -1 if there is none. Open
// says that there may be one however the text goes on.
func address(text string, i, end int) (start int, open bool) {
	if colon := colon(text, end); colon > end {
		at := end
		for at > i && at > end-longestScheme && alnum(text[at-1]) {
			at--
		}
		for at < end && text[at] <= '9' {
			at++
		}
		scheme := text[at:end]
		after := slashes(text, colon)
		switch {
		case len(scheme) < 2 || !follows(text, after): // of one letter it is a disk's name
		case after > colon+1, after > colon && webScheme(scheme), at == i && wordScheme(scheme):
			return at, false
		case after == colon && webScheme(scheme):
			var is bool
			if is, open = slashless(text, after); is {
				return at, false
			}
		}
	}
	if bare(text, i, end) {
		return i, open
	}
	return -1, open
}

// attributed says whether an address is due at i: after a bracket, a quote or an equals sign, and in a tag or behind
// what is only for addresses, after spaces.
func (t *tag) attributed(text string, i int) bool {
	before := trimSpace(text[:i])
	at := len(before)
	if at == 0 {
		return false
	}
	c := before[at-1]
	switch {
	case t.quote != 0:
		return at < i || strings.IndexByte("\"'=;,(", c) >= 0
	case at == i && strings.IndexByte("(\"'=<", c) >= 0:
		return true
	case c == '=':
		return t.in
	case c == '"' || c == '\'':
		return strings.HasSuffix(before[:at-1], "(")
	case c == '(':
		return strings.HasSuffix(before, "](") || endsIn(before, "url(")
	}
	return strings.HasSuffix(before, "]:")
}

// extent returns where the link that begins at start ends, and whether it may go on behind the end of text. Brackets that open in it close
// in it.
func (t *tag) extent(text string, start, from int) (end int, more bool) {
	var round, square, curly int
	limit := min(len(text), start+longest)
	for i := start; i < limit; i++ {
		c := text[i]
		if c == t.quote {
			return i, false
		}
		switch c {
		case '<', '>', '"', '`', '|', 0x7f:
			return i, false
		case '(':
			round++
		case '[':
			square++
		case '{':
			curly++
		case ')':
			round--
		case ']':
			square--
		case '}':
			curly--
		default:
			if c > ' ' {
				break
			}
			n := t.skip(text, i)
			if n == i || n == len(text) {
				return i, n > i
			}
			if is, open := another(text, n); is || open {
				return i, !is
			}
			i = n - 1
		}
		if round < 0 || square < 0 || curly < 0 {
			return max(i, from), false
		}
	}
	return limit, limit < start+longest
}
