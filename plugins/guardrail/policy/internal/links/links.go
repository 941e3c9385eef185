// Package links finds the links in a text and holds them to a list of what is allowed. It is for
// texts that carry data away: an image whose address has a secret in it is fetched by everyone to
// whom the text is shown, without a click.
//
//	list, err := links.New([]string{"corp.example", "*.corp.example"}, nil)
//	found, _ := links.Find(nil, text)
//	for _, link := range found {
//		err := list.Check(text[link.Start:link.End]) // nil: allowed
//	}
//
// Find finds
//
//   - addresses with a scheme and slashes, or backslashes: https://host, https:\\host,
//     https\://host;
//   - addresses of the web without slashes, if a host seems to follow: https:host.example;
//   - data:, javascript:, vbscript:, blob: and mailto: addresses;
//   - addresses without a scheme where Markdown or HTML has an address: ![x]( //host/y ),
//     src=//host, srcset, refresh;
//   - hosts without a scheme that end in a usual top-level domain: www.host.example/path, host.com.
//
// In a quoted attribute of a tag, tabs and line ends are part of an address, for browsers drop them
// there. Relative addresses lead nowhere else, so they are no links.
//
// The limits: a host without a scheme is not found if its top-level domain is not in the list of
// this package, nor if its ending is rather a file's (main.rs, README.md), unless a path follows.
// An address longer than 2,048 bytes is found up to there. What is disguised is found in the views
// of package view.
//
// To have more links found, add the scheme to scheme.go, or the form of a tag to tag.go. What a list allows is
// decided in list.go.
package links

import "strings"

// The limits of lengths, in bytes.
const (
	longest       = 2048 // of a link
	longestHost   = 253
	longestLabel  = 63
	longestScheme = 32
)

// A Link is an address in a text.
type Link struct {
	Start  int  // its first byte
	End    int  // the byte behind its last
	Loaded bool // showing the text fetches it, without a click: an image, a style, a frame
}

// Find appends the links in text to found, in order and without overlaps, and returns the extended
// slice. It allocates nothing if there are none.
//
// It also returns how many bytes of a text that may go on are settled. However it goes on, the links
// that begin there are those that Find finds now, and they end there, too. Not settled is a link at
// the end, which may go on, or the last word, which may be the beginning of a link. The number
// never decreases as the text grows.
func Find(found []Link, text string) (links []Link, open int) {
	// Go over the text word by word; a word consists of the characters of hosts.
	open = len(text)
	var t tag
	for i := 0; i < len(text); {
		// Where a link begins in what stands at i (-1 for nowhere), and where that ends.
		start := -1
		end := i
		c := text[i]
		spread := false
		unsure := false
		if t.quote != 0 && (alnum(c) || c == '/' || c == '\\') {
			spread, unsure = t.spread(text, i)
			if unsure {
				open = min(open, i)
			}
		}
		switch {
		case spread:
			start = i
			end = i + 1
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
			goesOn := end == len(text) || text[end:] == `\`
			if after > end && (unsure || slashes(text, after) == len(text)) {
				goesOn = true // what follows the colon may make it a scheme
			}
			if goesOn {
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

		// Follow the link to its end. Punctuation behind it does not belong to it, unless it is cut
		// off there.
		stop, more := t.extent(text, start, max(end, start+1))
		if more {
			open = min(open, start)
		}
		trimmed := stop - start
		if trimmed < longest {
			trimmed = trim(text[start:stop])
		}
		if trimmed > 0 {
			found = append(found, Link{
				Start:  start,
				End:    start + trimmed,
				Loaded: t.list || loaded(text, start),
			})
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

// address returns where a link begins whose scheme or host is the word from i to end; -1 if there
// is none. It returns open if it depends on how the text goes on.
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
			is, open = slashless(text, after)
			if is {
				return at, false
			}
		}
	}
	if bare(text, i, end) {
		return i, open
	}
	return -1, open
}

// attributed says whether slashes at i begin an address, for what stands before them is followed by
// one: a bracket, a quote or an equals sign. In a tag, and behind what is for addresses only,
// spaces may stand between.
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

// extent returns where the link that begins at start ends, and whether it may go on behind the end
// of text. A bracket that closes ends it, unless the bracket was opened in it.
func (t *tag) extent(text string, start, from int) (end int, more bool) {
	round := 0
	square := 0
	curly := 0
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
