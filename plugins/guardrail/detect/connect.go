package detect

import "github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"

// Passwords in URLs, in password files and in SQL.

// urlSet are the bytes of a user or a password in a URL, as people write them; a password may have a colon, too.
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

// oracle looks for the password in jdbc:oracle:thin:user/password@host.
func (s *scan) oracle(_, from int) {
	text := s.text
	slash := wordSet.Run(text, from, 64)
	if slash == from || slash >= len(text) || text[slash] != '/' {
		return
	}
	end := urlSet.Run(text, slash+1, 127)
	if end == len(text) {
		s.hold(slash + 1)
	} else if text[end] == '@' {
		s.given("url-password", slash+1, end, false)
	}
}

// pgpass looks for the password in a line of PostgreSQL's password file,
// host:5432:database:user:password.
func (s *scan) pgpass(_, from int) {
	database := pgpassSet.Run(s.text, from, 128)
	user := pgpassSet.Run(s.text, min(database+1, len(s.text)), 128)
	if user < len(s.text) && s.text[database] == ':' && s.text[user] == ':' {
		s.argument("pgpass", user+1, false)
	}
}

// pgpassSet are the bytes of the name of a database or a user.
var pgpassSet = pattern.MustSet("!-9;-\xff")

// identifiedBy looks for the password in SQL's IDENTIFIED BY 'password'.
func (s *scan) identifiedBy(_, at int) {
	if at < len(s.text) && (s.text[at] == '\'' || s.text[at] == '"') {
		s.argument("sql-password", at, false)
	}
}
