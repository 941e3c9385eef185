package detect

import "strings"

// scheme looks at what follows Bearer, SSWS or Basic where no Authorization: is before it: a
// token, or user:password in base64.
func (s *scan) scheme(start, end int) {
	if start > 0 && isWord(s.text[start-1]) {
		return
	}
	i := s.unquoted(end)
	if i == len(s.text) && i-end <= maxValue {
		s.hold(end)
	}
	value := strings.TrimRight(s.text[end:i], ".:!?")
	if value != "" && s.isLogin(value) && (len(value) >= 20 || isBasic(value)) {
		s.add("authorization", end, end+len(value), assignedScore)
	}
}

// maxCookies bounds what is read of a header of cookies.
const maxCookies = 4 << 10

// cookies looks for sessions in a header, Cookie: name=value; name=value, and in curl's option for
// it.
func (s *scan) cookies(_, at int) {
	text := s.text
	i := at
	for i < len(text) && i-at < 4 && strings.IndexByte(`"':= `, text[i]) >= 0 {
		i++
	}
	for i > at && i-at < maxCookies {
		// The name.
		equal := i
		for equal < len(text) && equal-i < maxName && (isName(text[equal]) || text[equal] == '*') {
			equal++
		}
		s.isLong(at, equal)
		if equal == i || equal >= len(text) || text[equal] != '=' {
			return
		}

		// The value.
		end := equal + 1
		for end < len(text) && end-equal <= maxCookies && text[end] > ' ' &&
			strings.IndexByte(`;,"'\\`, text[end]) < 0 {
			end++
		}
		s.isLong(at, end)
		if isSession(text[i:equal]) {
			if end == len(text) {
				s.hold(equal + 1)
			}
			value := text[equal+1 : end]
			if isRandomCookie(value) && !s.isPlaceholder(value) {
				s.add("session-cookie", equal+1, end, .7)
			}
		}

		// What stands before the next one.
		i = end
		for i < len(text) && i-end < 3 && (text[i] == ';' || text[i] == ' ') {
			i++
		}
		s.isLong(at, i)
		if i == end {
			return
		}
	}
}

// isRandomCookie tells whether a cookie's value looks random, or its end does after escapes such
// as s%3A.
func isRandomCookie(value string) bool {
	if isRandom(value) {
		return true
	}
	escape := strings.LastIndexByte(value, '%')
	return escape >= 0 && isRandom(value[escape+1:])
}

// isSession tells whether a cookie of this name says who somebody is.
func isSession(name string) bool {
	session := false
	for i := range len(name) {
		rest := name[i:]
		if foldPrefix(rest, "csrf") || foldPrefix(rest, "xsrf") {
			return false
		}
		for _, word := range [...]string{"sess", "auth", "token", "jwt", "remember"} {
			session = session || foldPrefix(rest, word)
		}
		session = session || foldPrefix(rest, "sid") && (i == 0 || !isLetter(name[i-1]))
	}
	return session
}
