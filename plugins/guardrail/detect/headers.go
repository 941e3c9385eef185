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
