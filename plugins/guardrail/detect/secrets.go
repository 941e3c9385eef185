package detect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
	"github.com/plughook/plughook/plugins/guardrail/internal/automaton"
)

// Secrets returns the detector of secrets: tokens by the forms that their providers document,
// private keys, JSON Web Tokens, passwords in URLs and in commands, sessions in cookies, and
// values that are assigned to a name such as api_key and look random. A finding is the secret
// without its name. It has the type SECRET; Rule says what kind of secret it is.
//
// A form tells a token from other text, not a live token from a revoked one. Placeholders (xxxx,
// EXAMPLE, ${VAR}) and the public part of a pair of keys are not secrets. A secret that looks like
// an ordinary word is not seen unless it is called a password.
func Secrets() Detector { return defaultSecrets() }

var defaultSecrets = sync.OnceValue(func() *secrets { return must(newSecrets()) })

// secrets is the detector. An automaton finds keywords; for each there are probes, which look at
// the text around it. It never changes once made.
type secrets struct {
	lexicon
	keywords  *automaton.Automaton
	probes    [][]probe // by the number of a keyword: how to look at what is around it
	leads     []bool    // by the index of a state: whether a secret may begin with what was read so far
	tokens    []token
	providers []provider
	commands  []command
}

// A probe says how to look at the text around a keyword: the way, and the row of the way's table.
type probe struct {
	way way
	row int32
}

type way uint8

const (
	tokenWay        way = iota // the keyword begins a token
	providerWay                // it is the name of a provider
	wordWay                    // it is a word such as key, token or password
	foreignWay                 // it is a word for password in another language
	pemWay                     // it is -----BEGIN
	puttyWay                   // it stands before the private part of a PuTTY key
	jwtWay                     // it is the beginning of a JSON object in base64url
	jwtTwiceWay                // it is that in base64 again
	urlWay                     // it is ://
	curlUserWay                // it is curl's option for a user and password
	azureWay                   // it is the middle of an Azure client secret
	telegramWay                // it is the middle of a Telegram bot's token
	schemeWay                  // it is Basic, Bearer, SSWS
	cookieWay                  // it is a header of cookies, or curl's option for them
	commandWay                 // it is a command that is given a password
	pgpassWay                  // it is in host:port:database:user:password
	oracleWay                  // it stands before user/password@host
	identifiedByWay            // it is SQL's IDENTIFIED BY
	pipedWay                   // it is a command that writes what a pipe reads
	derWay                     // it is the beginning of a private key in DER, in base64
)

// fixedKeywords are the keywords that are in no data file.
var fixedKeywords = []struct {
	word string
	way  way
}{
	{"-----BEGIN", pemWay},
	{"Private-Lines:", puttyWay},
	{"eyJ", jwtWay},
	{"ZXlK", jwtTwiceWay},
	{"://", urlWay},
	{"-u", curlUserWay},
	{"--user", curlUserWay},
	{"Q~", azureWay},
	{":AA", telegramWay},
	{"basic ", schemeWay},
	{"bearer ", schemeWay},
	{"ssws ", schemeWay},
	{"cookie", cookieWay},
	{":5432:", pgpassWay},
	{"jdbc:oracle:thin:", oracleWay},
	{"identified by ", identifiedByWay},
	{"echo ", pipedWay},
	{"printf ", pipedWay},
	{"MII", derWay},
	{"MHcCAQEE", derWay},
	{"MC4CAQAw", derWay},
	{"b3BlbnNzaC1rZXktdjE", derWay},
}

// newSecrets reads the data files of secrets and makes the automaton of all keywords.
func newSecrets() (*secrets, error) {
	d := &secrets{}
	err := d.readLexicon()
	if err != nil {
		return nil, err
	}
	var forms pattern.Parser
	d.tokens, err = readTokens(&forms)
	if err != nil {
		return nil, err
	}
	d.providers, err = readProviders(&forms)
	if err != nil {
		return nil, err
	}
	d.commands, err = readCommands()
	if err != nil {
		return nil, err
	}

	// Collect the keywords, each with its probes.
	var list []string
	number := make(map[string]int, 2*len(d.tokens))
	add := func(word string, way way, row int) {
		word = lowerASCII(word)
		i, known := number[word]
		if !known {
			i = len(list)
			number[word] = i
			list = append(list, word)
			d.probes = append(d.probes, nil)
		}
		d.probes[i] = append(d.probes[i], probe{way: way, row: int32(row)})
	}
	for n, t := range d.tokens {
		add(t.prefix, tokenWay, n)
	}
	for n, p := range d.providers {
		add(p.name, providerWay, n)
	}
	for _, word := range d.keywordsOfNames {
		add(word, wordWay, 0)
	}
	for _, k := range fixedKeywords {
		add(k.word, k.way, 0)
	}
	for n, c := range d.commands {
		for _, name := range c.names {
			add(name, commandWay, n)
		}
	}
	for _, word := range d.passwordNames {
		add(word, foreignWay, 0)
	}
	d.keywords, err = automaton.New(list)
	if err != nil {
		return nil, fmt.Errorf("keywords of secrets: %w", err)
	}

	// Mark the states in which the bytes read so far may be the beginning of a secret.
	d.leads = make([]bool, d.keywords.States())
	for i, word := range list {
		if !slices.ContainsFunc(d.probes[i], func(p probe) bool { return p.way.begins() }) {
			continue
		}
		state := uint32(0)
		for j := range len(word) - 1 {
			state = d.keywords.Step(state, word[j])
			d.leads[d.keywords.Index(state)] = true
		}
	}
	return d, nil
}

// lowerASCII makes the ASCII letters of a word small, as the automaton does.
func lowerASCII(word string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return unicode.ToLower(r)
		}
		return r
	}, word)
}

// begins tells whether a secret that is found in this way may begin with the keyword.
func (w way) begins() bool {
	return w == tokenWay || w == pemWay || w == jwtWay || w == jwtTwiceWay || w == derWay
}

// look runs a probe at a keyword, which is s.text[start:end].
func (s *scan) look(p probe, start, end int) {
	switch p.way {
	case tokenWay:
		s.token(&s.tokens[p.row], start, end)
	case providerWay:
		s.provider(&s.providers[p.row], start, end)
	case wordWay:
		s.word(start, end)
	case foreignWay:
		s.foreign(start, end)
	case pemWay:
		s.pem(start, end)
	case puttyWay:
		s.putty(end)
	case jwtWay:
		s.jwt(start)
	case jwtTwiceWay:
		s.jwtTwice(start)
	case urlWay:
		s.url(end)
	case curlUserWay:
		s.curlUser(start, end)
	case azureWay:
		s.azure(end)
	case telegramWay:
		s.telegram(start, end)
	case schemeWay:
		s.scheme(start, end)
	case cookieWay:
		s.cookies(end)
	case commandWay:
		s.command(&s.commands[p.row], start, end)
	case pgpassWay:
		s.pgpass(end)
	case oracleWay:
		s.oracle(end)
	case pipedWay:
		s.piped(start, end)
	case derWay:
		s.der(start, end)
	case identifiedByWay:
		s.identifiedBy(end)
	}
}

// A scan is one pass over a text.
type scan struct {
	*secrets
	text  string
	found []Finding // overlapping ones too
	open  int       // nothing that begins before is undecided
	reach int       // up to where a long header of cookies, list of secrets or key goes on; 0 if there is none
	run   part      // the last run of unquotedSet, so that it is not read from each of its places

	named  part       // the last name that something is assigned to
	shared assignment // what is assigned to it
	judged part       // the last name whose meaning was looked at
}

// scans keeps scans for later use, with the room for findings that they have allocated.
var scans = sync.Pool{New: func() any { return new(scan) }}

// begin returns a scan of a text, for which end is to be called.
func (d *secrets) begin(text string) *scan {
	s := scans.Get().(*scan)
	*s = scan{secrets: d, text: text, found: s.found[:0], open: len(text)}
	return s
}

// end puts the scan back, without its text.
func (s *scan) end() {
	*s = scan{found: s.found}
	if cap(s.found) <= maxCluster {
		scans.Put(s)
	}
}

func (d *secrets) Find(found []Finding, text string) []Finding {
	s := d.begin(text)
	defer s.end()
	s.all()
	return settleAll(found, s.found)
}

func (d *secrets) Reader() Reader { return &tailReader{scanner: d} }

// scan implements scanner.
func (d *secrets) scan(text string) (all []Finding, open, reach int) {
	s := d.begin(text)
	defer s.end()
	s.tail(s.all())
	return slices.Clone(s.found), s.open, s.reach
}

// all finds everything in the text, and returns the automaton's state at its end.
func (s *scan) all() (state uint32) {
	keywords := s.keywords
	text := s.text
	for i := 0; i < len(text); i++ {
		state = keywords.Step(state, text[i])
		if !keywords.Ends(state) {
			continue
		}
		for _, word := range keywords.Found(state) {
			for _, p := range s.probes[word] {
				s.look(p, i+1-keywords.Size(word), i+1)
			}
		}
	}
	slices.SortStableFunc(s.found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	return state
}

// tail calls hold for secrets that may begin at the end of the text and whose rest is missing.
func (s *scan) tail(state uint32) {
	s.keywords.Begun(state, func(length int, prefix uint32) bool {
		at := len(s.text) - length
		if !s.leads[s.keywords.Index(prefix)] || !s.begins(at) {
			return true
		}
		s.hold(at)
		return false
	})
	s.azureTail()
	s.telegramTail()
}

// hold keeps the text open from a place on: text that follows may change what is found there.
func (s *scan) hold(at int) { s.open = min(s.open, at) }

// isLong notes what goes on from one place to another, and decides about what stands there, if it is
// so long that LookBack is too short for it.
func (s *scan) isLong(start, end int) {
	if end-start > LookBack/2 {
		s.reach = max(s.reach, end)
	}
}

// add adds a finding.
func (s *scan) add(rule string, start, end int, score float64) {
	s.found = append(s.found, Finding{
		Type:  "SECRET",
		Rule:  rule,
		Start: start,
		End:   end,
		Score: score,
	})
}

// begins tells whether a token may begin at a place: no letter or digit and no + is before it,
// unless that is the end of an escape such as \n or %3D.
func (s *scan) begins(at int) bool {
	if at == 0 {
		return true
	}
	c := s.text[at-1]
	if !isWord(c) && c != '+' {
		return true
	}
	if at > 1 && s.text[at-2] == '\\' {
		return c == 'n' || c == 'r' || c == 't'
	}
	return at > 2 && s.text[at-3] == '%' && isHex(c) && isHex(s.text[at-2])
}
