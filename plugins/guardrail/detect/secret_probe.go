package detect

// A probe is a way to look at a keyword's surroundings: a kind, and which of that kind.
type probe struct {
	kind probeKind
	n    int32
}

type probeKind uint8

const (
	tokenProbe    probeKind = iota // the keyword begins a token
	nameProbe                      // the keyword is a provider's name
	wordProbe                      // the keyword is a word such as key, token or password
	pemProbe                       // -----BEGIN
	jwtProbe                       // the beginning of a JSON object in base64url
	jwtTwiceProbe                  // and that in base64 again
	urlProbe                       // ://
	userProbe                      // curl's option for a user and password
	azureProbe                     // the middle of an Azure client secret
	telegramProbe                  // the middle of a Telegram bot's token
	foreignProbe                   // password, in another language
	puttyProbe                     // the private part of a PuTTY key
	schemeProbe                    // Basic, Bearer, SSWS
	cookieProbe                    // a header of cookies, or curl's option
	commandProbe                   // a command that is given a password
	pgpassProbe                    // host:port:database:user:password
	oracleProbe                    // user/password@host
	sqlProbe                       // IDENTIFIED BY
)

// begins tells whether what the probe finds may begin with the keyword or before it.
func (k probeKind) begins() bool {
	switch k {
	case tokenProbe, pemProbe, jwtProbe, jwtTwiceProbe:
		return true
	}
	return false
}

func (s *scan) look(p probe, start, end int) {
	switch p.kind {
	case tokenProbe:
		s.token(&s.tokens[p.n], start, end)
	case nameProbe:
		s.provider(&s.names[p.n], start, end)
	case wordProbe:
		s.word(start, end)
	case pemProbe:
		s.pem(start, end)
	case jwtProbe:
		s.jwt(start)
	case jwtTwiceProbe:
		s.jwtTwice(start)
	case urlProbe:
		s.url(end)
	case userProbe:
		s.user(start, end)
	case azureProbe:
		s.azure(end)
	case telegramProbe:
		s.telegram(start, end)
	case foreignProbe:
		s.foreign(start, end)
	case puttyProbe:
		s.putty(end)
	case schemeProbe:
		s.lone(start, end)
	case cookieProbe:
		s.cookies(end)
	case commandProbe:
		s.command(&commands[p.n], start, end)
	case pgpassProbe:
		s.pgpass(end)
	case oracleProbe:
		s.oracle(end)
	case sqlProbe:
		s.identified(end)
	}
}
