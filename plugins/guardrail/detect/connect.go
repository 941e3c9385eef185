package detect

import "github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"

// Passwords in URLs and in SQL.

// urlSet are the bytes of a user or a password in a URL, as people write them; a password may have
// a colon, too.
var (
	urlSet         = pattern.MustSet("A-Za-z0-9_.~!#$&'()*+,;=%^|{}[<>-")
	urlPasswordSet = pattern.MustSet("A-Za-z0-9_.~!#$&'()*+,;=%^|{}[<>:-")
	hostStartSet   = pattern.MustSet("A-Za-z0-9_[.")
)

// url looks for the password in scheme://user:password@host, from behind the slashes.
func (s *scan) url(_, from int) {
	text := s.text
	colon := urlSet.Run(text, from, 128)
	if colon >= len(text) || text[colon] != ':' {
		return
	}
	start := colon + 1
	end := urlPasswordSet.Run(text, start, 257)
	switch {
	case end-start > 256:
		return
	case end == len(text):
		s.hold(start)
		return
	case text[end] != '@' || end+1 < len(text) && !hostStartSet[text[end+1]]:
		return
	case end+1 == len(text):
		s.hold(start)
	}
	password := text[start:end]
	if len(password) >= 4 && s.isFilledIn(password) {
		s.add("url-password", start, end, .85)
	}
}

// identifiedBy looks for the password in SQL's IDENTIFIED BY 'password'.
func (s *scan) identifiedBy(_, pos int) {
	if pos < len(s.text) && (s.text[pos] == '\'' || s.text[pos] == '"') {
		s.argument("sql-password", pos, false)
	}
}
