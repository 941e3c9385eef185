package detect

import "strings"

// lone looks at what follows the name of a scheme without a header before it: Bearer and SSWS and a token, Basic and
// user:password in base64.
func (s *scan) lone(start, end int) {
	if start > 0 && isWord(s.text[start-1]) {
		return
	}
	i := s.unquoted(end)
	if i == len(s.text) && i-end <= maxValue {
		s.hold(end)
	}
	value := strings.TrimRight(s.text[end:i], ".:!?")
	if value != "" && isLogin(value) && (len(value) >= 20 || isBasic(value)) {
		s.add("authorization", end, end+len(value), .55)
	}
}

// maxCookies bounds what is read of a header of cookies.
const maxCookies = 4 << 10

// cookies looks for sessions in a header, Cookie: name=value; name=value, and in curl's option for it.
func (s *scan) cookies(at int) {
	text, i := s.text, at
	for i < len(text) && i-at < 4 && strings.IndexByte(`"':= `, text[i]) >= 0 {
		i++
	}
	for i > at && i-at < maxCookies {
		equal := i
		for equal < len(text) && equal-i < maxName && (isName(text[equal]) || text[equal] == '*') {
			equal++
		}
		if equal == i || equal >= len(text) || text[equal] != '=' {
			return
		}
		end := equal + 1
		for end < len(text) && end-equal <= maxCookies && text[end] > ' ' && strings.IndexByte(`;,"'\\`, text[end]) < 0 {
			end++
		}
		session := isSession(text[i:equal])
		if session && end == len(text) {
			s.hold(equal + 1)
		}
		if value := text[equal+1 : end]; session && (isRandom(value) || strings.Contains(value, "%") && isRandom(value[strings.LastIndexByte(value, '%')+1:])) && !isPlaceholder(value) {
			s.add("session-cookie", equal+1, end, .7)
		}
		for i = end; i < len(text) && i-end < 3 && (text[i] == ';' || text[i] == ' '); i++ {
		}
		if i == end {
			return
		}
	}
}

// isSession tells whether a cookie of this name says who somebody is.
func isSession(name string) bool {
	for i := range len(name) {
		rest := name[i:]
		if foldPrefix(rest, "csrf") || foldPrefix(rest, "xsrf") {
			return false
		}
	}
	for i := range len(name) {
		rest := name[i:]
		if foldPrefix(rest, "sess") || foldPrefix(rest, "sid") && (i == 0 || !isLetter(name[i-1])) || foldPrefix(rest, "auth") || foldPrefix(rest, "token") || foldPrefix(rest, "jwt") || foldPrefix(rest, "remember") {
			return true
		}
	}
	return false
}

// putty looks for the private part of a PuTTY key: its lines of base64, behind their number.
func (s *scan) putty(at int) {
	text, i := s.text, at
	for i < len(text) && i-at < 8 && (text[i] == ' ' || isDigit(text[i])) {
		i++
	}
	start := i
	for start < len(text) && start-i < 4 && strings.IndexByte("\r\n\\nr", text[start]) >= 0 {
		start++
	}
	end := start
	for end < len(text) && end-start < maxPEM && (armour[text[end]] || strings.IndexByte("\r\n\\", text[end]) >= 0) {
		end++
	}
	if end == len(text) {
		s.hold(start)
	} else if text[end] == '-' { // Private-MAC: its first word is base64, too
		end = start + len(strings.TrimSuffix(text[start:end], "Private"))
	}
	for end > start && !armour[text[end-1]] {
		end--
	}
	if start > i && end > start && hasArmour(text[start:end]) {
		s.add("private-key", start, end, 1)
	}
}
