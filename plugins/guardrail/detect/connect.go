package detect

import "github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"

// Passwords in URLs, in password files and in SQL.

// urlSet are the bytes of a user or a password in a URL, as people write them.
var urlSet = pattern.MustSet("A-Za-z0-9_.~!#$&'()*+,;=%^|{}[<>-")

// url looks for the password in scheme://user:password@host, from behind the slashes.
func (s *scan) url(_, at int) {
	text := s.text
	colon := at
	for colon < len(text) && colon-at < 128 && urlSet[text[colon]] {
		colon++
	}
	if colon >= len(text) || text[colon] != ':' {
		return
	}
	start := colon + 1
	end := start
	for end < len(text) && end-start <= 256 && (urlSet[text[end]] || text[end] == ':') {
		end++
	}
	if end-start > 256 {
		return
	}
	if end == len(text) {
		s.hold(start)
		return
	}
	if text[end] != '@' || end+1 < len(text) && !isWord(text[end+1]) && text[end+1] != '[' &&
		text[end+1] != '.' {
		return
	}
	if end+1 == len(text) {
		s.hold(start)
	}
	password := text[start:end]
	if len(password) >= 4 && s.isFilledIn(password) {
		s.add("url-password", start, end, .85)
	}
}

// oracle looks for the password in jdbc:oracle:thin:user/password@host.
func (s *scan) oracle(_, at int) {
	text := s.text
	slash := at
	for slash < len(text) && slash-at < 64 && isWord(text[slash]) {
		slash++
	}
	if slash == at || slash >= len(text) || text[slash] != '/' {
		return
	}
	end := slash + 1
	for end < len(text) && end-slash < 128 && urlSet[text[end]] {
		end++
	}
	if end == len(text) {
		s.hold(slash + 1)
	} else if text[end] == '@' {
		s.given("url-password", slash+1, end, false)
	}
}

// pgpass looks for the password in a line of PostgreSQL's password file,
// host:5432:database:user:password.
func (s *scan) pgpass(_, at int) {
	text := s.text
	fields := 0
	i := at
	for i < len(text) && i-at < 128 && text[i] > ' ' && fields < 2 {
		if text[i] == ':' {
			fields++
		}
		i++
	}
	if fields == 2 {
		s.argument("pgpass", i, false)
	}
}

// identifiedBy looks for the password in SQL's IDENTIFIED BY 'password'.
func (s *scan) identifiedBy(_, at int) {
	if at < len(s.text) && (s.text[at] == '\'' || s.text[at] == '"') {
		s.argument("sql-password", at, false)
	}
}
