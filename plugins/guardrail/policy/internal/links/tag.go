package links

import "strings"

// A tag says whether a place in a text is in a tag of HTML, and in a quoted attribute of it. In
// such an attribute, browsers drop tabs and line ends from an address, and they take an address
// without a scheme.
type tag struct {
	in    bool
	quote byte // the quote that the attribute is in, 0 if it is in none
	list  bool // the attribute has several addresses, with white space between them
}

// see takes in the character at i, which belongs to no word and no link.
func (t *tag) see(text string, i int) {
	switch c := text[i]; {
	case t.quote != 0:
		if c == t.quote {
			t.quote = 0
		}
	case c == '<':
		t.in = true
	case c == '>':
		t.in = false
	case t.in && (c == '"' || c == '\''):
		if before := trimSpace(text[:i]); strings.HasSuffix(before, "=") {
			name := trimSpace(before[:len(before)-1])
			t.quote = c
			t.list = endsIn(name, "srcset") || endsIn(name, "ping")
		}
	}
}

// trimSpace returns the text without the white space, and control characters, at its end.
func trimSpace(text string) string {
	for text != "" && text[len(text)-1] <= ' ' {
		text = text[:len(text)-1]
	}
	return text
}

// endsIn reports whether a text ends in a word, in whatever case.
func endsIn(text, word string) bool {
	return len(text) >= len(word) && strings.EqualFold(text[len(text)-len(word):], word)
}

// drops reports whether a browser drops the character from an address.
func drops(c byte) bool { return c == '\t' || c == '\n' || c == '\r' }

// skip returns where what is dropped ends that begins at i.
func (t *tag) skip(text string, i int) int {
	for t.quote != 0 && !t.list && i < len(text) && drops(text[i]) {
		i++
	}
	return i
}

// spread reports whether an address begins at i in a form that only browsers read: with tabs or
// line ends in its scheme or slashes, or without slashes. It reports open if that depends on how
// the text goes on.
func (t *tag) spread(text string, i int) (is, open bool) {
	if t.quote == 0 || t.list || i > 0 && text[i-1] > ' ' &&
		strings.IndexByte("\"'=;,(", text[i-1]) < 0 {
		return false, false
	}
	var scheme [len("javascript:")]byte
	n := 0 // letters of the scheme
	slashes := 0
	colon := false
	dropped := false
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case drops(c):
			dropped = true
		case c == '/' || c == '\\':
			slashes++
			if n > 0 && !colon || slashes > len(scheme) {
				return colon, false
			}
		case colon || slashes > 0:
			web := n > 0 && webScheme(string(scheme[:n]))
			begins := slashes > 1 || web || n > 0 && wordScheme(string(scheme[:n]))
			return begins && (dropped || web && slashes == 0) && c > ' ' && c != t.quote && c != '<', false
		case c == ':' && n > 1:
			colon = true
		case n < len(scheme) && alnum(c):
			scheme[n] = c
			n++
		default:
			return false, false
		}
	}
	return false, true
}

// webs are the schemes that browsers fetch from.
var webs = [...]string{"https:", "http:", "wss:", "ws:", "ftp:"}

// another reports whether another address begins at i; open if that depends on how the text goes
// on.
func another(text string, i int) (is, open bool) {
	for _, scheme := range webs {
		n := min(len(scheme), len(text)-i)
		if strings.EqualFold(text[i:i+n], scheme[:n]) {
			if n == len(scheme) {
				return true, false
			}
			open = true
		}
	}
	return false, open
}

// slashless reports whether what stands at i, behind a scheme without slashes, is a host and not a
// word: there is a dot in it, or a user before it, or it is a number, or disguised. It reports open
// if that depends on how the text goes on.
func slashless(text string, i int) (is, open bool) {
	for end := i; end < len(text) && end <= i+longestHost; end++ {
		switch c := text[end]; {
		case c == '@' || c == '%' || c == '[' || c >= 0x80:
			return true, false
		case c == '.':
			if end > i && end+1 < len(text) && inHost[text[end+1]] == 1 {
				return true, false
			}
		case inHost[c] == 0:
			word := text[i:end]
			isNumber := len(word) > 7 && '0' <= word[0] && word[0] <= '9'
			return isNumber && strings.Trim(word, "0123456789abcdefABCDEFxX") == "", false
		}
	}
	return false, len(text) <= i+longestHost
}
