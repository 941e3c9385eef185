// Package links finds the links in a text and holds them to a list of what is allowed. The case to think of is a text
// that carries data away: an image whose address has a secret in it is fetched by who merely looks at the text.
//
// Found are addresses with a scheme and slashes, backslashes among them (https:\\host); data:, javascript:, vbscript:,
// blob: and mailto: addresses; addresses without a scheme where Markdown or HTML has one (![x](//host/y), src=//host); and bare
// hosts of well-known top-level domains (www.host.example/path, host.com). Relative addresses lead nowhere else and are none.
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
	for i := 0; i < len(text); {
		start := -1
		end := i
		switch c := text[i]; {
		case inHost[c] != 0:
			kinds := byte(0)
			for end < len(text) && inHost[text[end]] != 0 {
				kinds |= inHost[text[end]]
				end++
			}
			colon := end < len(text) && text[end] == ':'
			if colon || kinds&dot != 0 {
				start = address(text, i, end)
			}
			if end == len(text) || colon && slashes(text, end+1) == len(text) {
				open = min(open, wordOpen(text[:end], i))
			}
		case c == '/' || c == '\\':
			end++
			if attributed(text, i) {
				n := slashes(text, i)
				if n == len(text) {
					open = min(open, i)
				} else if n-i >= 2 {
					start = i
				}
				end = n
			}
		default:
			i++
			continue
		}
		if start < 0 {
			i = end
			continue
		}
		stop, more := extent(text, start, max(end, start+1))
		if more {
			open = min(open, start)
		}
		if trimmed := trim(text[start:stop]); keep && trimmed > 0 {
			found = append(found, Link{Start: start, End: start + trimmed, Loaded: loaded(text, start)})
		}
		i = stop
	}
	return found, open
}

const dot = 2

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

// slashes returns where the slashes of both kinds end that begin at i.
func slashes(text string, i int) int {
	for i < len(text) && (text[i] == '/' || text[i] == '\\') {
		i++
	}
	return i
}

// wordOpen returns from where the word from i to the end of text may be part of a link to come.
func wordOpen(text string, i int) int {
	if isHost(text[i:]) {
		return i
	}
	at := len(text)
	for at > i && at > len(text)-longestScheme && alnum(text[at-1]) {
		at--
	}
	return at
}

func alnum(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

// address returns where a link begins that has the word from i to end in it: its scheme, or host; -1 if there is none.
func address(text string, i, end int) int {
	if end < len(text) && text[end] == ':' {
		at := end
		for at > i && at > end-longestScheme && alnum(text[at-1]) {
			at--
		}
		for at < end && text[at] <= '9' {
			at++
		}
		scheme := text[at:end]
		after := slashes(text, end+1)
		follows := after < len(text) && text[after] > ' ' && text[after] != '"' && text[after] != '<'
		switch {
		case len(scheme) < 2 || !follows: // of one letter it is a disk's name
		case after > end+2, after > end+1 && webScheme(scheme), at == i && wordScheme(scheme):
			return at
		}
	}
	if bare(text, i, end) {
		return i
	}
	return -1
}

func webScheme(s string) bool {
	return fold(s, "http") || fold(s, "https") || fold(s, "ws") || fold(s, "wss") || fold(s, "ftp")
}

// wordScheme says whether a scheme needs no slashes.
func wordScheme(s string) bool {
	return fold(s, "data") || fold(s, "javascript") || fold(s, "vbscript") || fold(s, "blob") || fold(s, "mailto")
}

func fold(s, word string) bool {
	return len(s) == len(word) && strings.EqualFold(s, word)
}

// attributed says whether an address is due at i: after a bracket, a quote or an equals sign.
func attributed(text string, i int) bool {
	if i == 0 {
		return false
	}
	switch text[i-1] {
	case '(', '"', '\'', '=', '<':
		return true
	case ' ':
		return strings.HasSuffix(text[:i-1], "]:")
	}
	return false
}

// extent returns where the link that begins at start ends, and whether it may go on behind the end of text. Brackets that open in it close
// in it.
func extent(text string, start, from int) (end int, more bool) {
	var round, square, curly int
	limit := min(len(text), start+longest)
	for i := start; i < limit; i++ {
		switch c := text[i]; c {
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
			if c <= ' ' {
				return i, false
			}
		}
		if round < 0 || square < 0 || curly < 0 {
			return max(i, from), false
		}
	}
	return limit, limit < start+longest
}

// trim returns how much of a link is left without the punctuation behind it.
func trim(link string) int {
	return len(strings.TrimRight(link, ".,;:!?'*_~"))
}

// loaded says whether the address at i is fetched when the text is shown.
func loaded(text string, i int) bool {
	before := text[max(0, i-300):i]
	before = strings.TrimRight(before, "\"' <")
	if label, ok := strings.CutSuffix(before, "]("); ok {
		depth := 1
		for at := len(label) - 1; at > 0; at-- {
			switch label[at] {
			case ']':
				depth++
			case '[':
				if depth--; depth == 0 {
					return label[at-1] == '!'
				}
			}
		}
		return false
	}
	for _, way := range [...]string{"src=", "srcset=", "background=", "poster=", "url(", "@import", "]:"} {
		if len(before) >= len(way) && strings.EqualFold(before[len(before)-len(way):], way) {
			return true
		}
	}
	if tag := strings.LastIndexByte(before, '<'); tag >= 0 && len(before) > 5 && strings.EqualFold(before[len(before)-5:], "href=") {
		return len(before) > tag+5 && strings.EqualFold(before[tag+1:tag+5], "link")
	}
	return false
}
