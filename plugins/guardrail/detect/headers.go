package detect

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

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
func (s *scan) cookies(_, start int) {
	text := s.text
	i := cookieStartSet.Run(text, start, 4)
	for i > start && i-start < maxCookies {
		equal := cookieNameSet.Run(text, i, maxName)
		s.isLong(start, equal)
		if equal == i || equal >= len(text) || text[equal] != '=' {
			return
		}
		end := cookieSet.Run(text, equal+1, maxCookies)
		s.isLong(start, end)
		if isSession(text[i:equal]) {
			if end == len(text) {
				s.hold(equal + 1)
			}
			value := text[equal+1 : end]
			if isRandomCookie(value) && !s.isPlaceholder(value) {
				s.add("session-cookie", equal+1, end, .7)
			}
		}
		i = cookieEndSet.Run(text, end, 3)
		s.isLong(start, i)
		if i == end {
			return
		}
	}
}

// What stands before the first cookie, in a cookie's name, in its value, and behind it.
var (
	cookieStartSet = pattern.MustSet("\"':= `")
	cookieNameSet  = pattern.MustSet("A-Za-z0-9_.$*-")
	cookieSet      = pattern.MustSet("!#-&(-+--:<-[]-\xff")
	cookieEndSet   = pattern.MustSet("; ")
)

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
		is := func(word string) bool { return foldPrefix(rest, word) }
		if is("csrf") || is("xsrf") {
			return false
		}
		session = session || slices.ContainsFunc(sessionWords, is) ||
			is("sid") && (i == 0 || !isLetter(name[i-1]))
	}
	return session
}

var sessionWords = []string{"sess", "auth", "token", "jwt", "remember"}
