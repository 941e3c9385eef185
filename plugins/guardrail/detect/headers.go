package detect

import (
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

// cookieSet are the bytes of a cookie's value.
var cookieSet = pattern.MustSet("!#-&(-+--:<-[]-\xff")

// cookie looks for a session in a header of cookies, Cookie: name=value; name=value, or in curl's
// option for it, behind the = of a name that sessions have.
func (s *scan) cookie(start, end int) {
	const near = LookBack / 2
	before := s.text[max(0, start-near):start]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	name := s.nameAround(start, end-1)
	if !mentions(before, []string{"cookie"}) || s.isPublicName(s.text[name.start:end]) {
		return
	}
	stop := cookieSet.Run(s.text, end, maxValue)
	if stop == len(s.text) {
		s.hold(end)
	}
	value := s.text[end:stop]
	random := value[strings.LastIndexByte(value, '%')+1:] // behind escapes such as s%3A
	if len(value) < maxValue && (isRandom(value) || isRandom(random)) && !s.isPlaceholder(value) {
		s.add("session-cookie", end, stop, .7)
	}
}
