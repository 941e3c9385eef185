package links

import "strings"

const dot = 2

// slashes returns where the slashes of both kinds end that begin at i.
func slashes(text string, i int) int {
	for i < len(text) && (text[i] == '/' || text[i] == '\\') {
		i++
	}
	return i
}

// colon returns where the colon at i ends; i if there is none. To Markdown, a backslash before it
// does not count.
func colon(text string, i int) int {
	switch {
	case i < len(text) && text[i] == ':':
		return i + 1
	case i+1 < len(text) && text[i] == '\\' && text[i+1] == ':':
		return i + 2
	}
	return i
}

// wordOpen returns from where on the word from i to the end of text may be a host, or a scheme,
// that goes on.
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

// follows says whether something of an address stands at i.
func follows(text string, i int) bool {
	return i < len(text) && text[i] > ' ' && text[i] != '"' && text[i] != '<'
}

func webScheme(s string) bool {
	return fold(s, "http") || fold(s, "https") || fold(s, "ws") || fold(s, "wss") || fold(s, "ftp")
}

// wordScheme says whether a scheme needs no slashes.
func wordScheme(s string) bool {
	return fold(s, "data") || fold(s, "javascript") || fold(s, "vbscript") || fold(s, "blob") ||
		fold(s, "mailto")
}

func fold(s, word string) bool {
	return len(s) == len(word) && strings.EqualFold(s, word)
}

// loaded says whether the address at i is fetched when the text is shown.
func loaded(text string, i int) bool {
	before := text[max(0, i-300):i]
	before = strings.TrimRightFunc(before,
		func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '<' })
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
	for _, way := range [...]string{"url(", "@import", "]:"} {
		if endsIn(before, way) {
			return true
		}
	}
	name, ok := strings.CutSuffix(before, "=")
	if !ok {
		return false
	}
	name = trimSpace(name)
	for _, way := range [...]string{"src", "srcset", "background", "poster"} {
		if endsIn(name, way) {
			return true
		}
	}
	tag := strings.LastIndexByte(name, '<')
	return tag >= 0 && endsIn(name, "href") && len(name) > tag+5 && fold(name[tag+1:tag+5], "link")
}

// trim returns how much of a link is left without the punctuation behind it.
func trim(link string) int {
	return len(strings.TrimRight(link, ".,;:!?'*_~\t\n\r"))
}
