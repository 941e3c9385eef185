package detect

import (
	"cmp"
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
// an ordinary word is not seen.
func Secrets() Detector { return defaultSecrets() }

// StrictSecrets is Secrets, and takes words for passwords, too, where a name says that they are some:
// password: swordfish. Placeholders, references and types are none for it, either.
func StrictSecrets() Detector {
	strict := *defaultSecrets()
	strict.strict = true
	return &strict
}

var defaultSecrets = sync.OnceValue(newSecrets)

// secrets is the detector. An automaton finds keywords; for each there are probes, which look at
// the text around it. It never changes once made.
type secrets struct {
	lexicon
	middleTokens []middleToken
	keywords     *automaton.Automaton
	probes       [][]probe // by the number of a keyword: how to look at what is around it
	strict       bool      // words are passwords, too
	leads        []bool    // by the index of a state: whether a secret may begin with what was read so far
}

// A probe says how to look at the text around a keyword: as a token's prefix, as a provider's name, or
// in another way.
type probe struct {
	token    *token
	provider *provider
	look     func(s *scan, start, end int) // the keyword is text[start:end]
	begins   bool                          // a secret that is found so may begin with the keyword
}

// fixedProbes are the probes of the keywords that are in no data file.
var fixedProbes = []struct {
	word string
	probe
}{
	{"-----BEGIN", probe{look: (*scan).pem, begins: true}},
	{"eyJ", probe{look: (*scan).jwt, begins: true}}, // {" in base64url
	{"://", probe{look: (*scan).url}},
	{"identified by ", probe{look: (*scan).identifiedBy}},
	{"basic ", probe{look: (*scan).scheme}},
	{"bearer ", probe{look: (*scan).scheme}},
	{"ssws ", probe{look: (*scan).scheme}},
	{"sess=", probe{look: (*scan).cookie}},
	{"session=", probe{look: (*scan).cookie}},
	{"sessionid=", probe{look: (*scan).cookie}},
	{"session_id=", probe{look: (*scan).cookie}},
	{"sid=", probe{look: (*scan).cookie}},
}

// newSecrets reads the data files of secrets and makes the automaton of all keywords.
func newSecrets() *secrets {
	d := &secrets{}
	d.readLexicon()
	var forms pattern.Parser
	tokens := readTokens(&forms)
	providers := readProviders(&forms)
	commands := readCommands()

	// Collect the keywords, each with its probes.
	var list []string
	number := make(map[string]int, 2*len(tokens))
	add := func(word string, p probe) {
		word = lowerASCII(word)
		i, known := number[word]
		if !known {
			i = len(list)
			number[word] = i
			list = append(list, word)
			d.probes = append(d.probes, nil)
		}
		d.probes[i] = append(d.probes[i], p)
	}
	for i := range tokens {
		add(tokens[i].prefix, probe{token: &tokens[i], begins: true})
	}
	d.middleTokens = readMiddleTokens(&forms)
	for i := range d.middleTokens {
		t := &d.middleTokens[i]
		add(t.middle, probe{look: func(s *scan, start, end int) { s.middleToken(t, start, end) }})
	}
	for i := range providers {
		add(providers[i].name, probe{provider: &providers[i]})
	}
	for _, word := range d.keywordsOfNames {
		add(word, probe{look: (*scan).word})
	}
	for _, fixed := range fixedProbes {
		add(fixed.word, fixed.probe)
	}
	for i := range commands {
		look := func(s *scan, start, end int) { s.command(&commands[i], start, end) }
		for _, name := range commands[i].names {
			add(name, probe{look: look})
		}
	}
	for _, word := range d.passwordNames {
		add(word, probe{look: (*scan).foreign})
	}
	d.keywords = must(automaton.New(list))

	// Mark the states in which the bytes read so far may be the beginning of a secret.
	d.leads = make([]bool, d.keywords.States())
	for i, word := range list {
		if !slices.ContainsFunc(d.probes[i], func(p probe) bool { return p.begins }) {
			continue
		}
		state := uint32(0)
		for j := range len(word) - 1 {
			state = d.keywords.Step(state, word[j])
			d.leads[d.keywords.Index(state)] = true
		}
	}
	return d
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

// A scan is one pass over a text.
type scan struct {
	*secrets
	text  string
	found []Finding // overlapping ones too
	open  int       // nothing that begins before is undecided
	long  []Part    // long lists of secrets, and keys
	run   part      // the last run of unquotedSet, so that it is not read from each of its places

	named  part       // the last name that something is assigned to
	shared assignment // what is assigned to it
	judged part       // the last name whose meaning was looked at

	waiting assignedValue // an assigned value that is to be looked at
	known   part          // what was found last by its own form: there is no other secret in it
}

// scans keeps scans for later use, with the room for findings that they have allocated.
var scans = sync.Pool{New: func() any { return new(scan) }}

// begin returns a scan of a text, for which end is to be called.
func (d *secrets) begin(text string) *scan {
	s := scans.Get().(*scan)
	*s = scan{secrets: d, text: text, found: s.found[:0], long: s.long[:0], open: len(text)}
	return s
}

// end puts the scan back, without its text.
func (s *scan) end() {
	*s = scan{found: s.found, long: s.long}
	if cap(s.found) <= maxCluster {
		scans.Put(s)
	}
}

func (d *secrets) Find(found []Finding, text string) []Finding {
	found, _ = FindWithLong(d, found, text)
	return found
}

func (d *secrets) Reader() Reader { return &tailReader{scanner: d} }

// scan implements scanner.
func (d *secrets) scan(text string) (all []Finding, open int, long []Part) {
	s := d.begin(text)
	defer s.end()
	s.tail(s.all())
	return slices.Clone(s.found), s.open, slices.Clone(s.long)
}

// all finds everything in the text, and returns the automaton's state at its end.
func (s *scan) all() (state uint32) {
	keywords := s.keywords
	text := s.text
	for i := 0; i < len(text); i++ {
		state = keywords.Step(state, text[i])
		if i < s.known.end &&
			keywords.Depth(state) <= i-s.known.start { // go on behind the secret that was found
			i = s.known.end - 1
			state = 0
			continue
		}
		if !keywords.Ends(state) {
			continue
		}
		for _, word := range keywords.Found(state) {
			start := i + 1 - keywords.Size(word)
			for j := range s.probes[word] {
				switch p := &s.probes[word][j]; {
				case p.token != nil:
					s.token(p.token, start, i+1)
				case p.provider != nil:
					s.provider(p.provider, start, i+1)
				default:
					p.look(s, start, i+1)
				}
			}
		}
	}
	s.judgeWaiting()
	slices.SortStableFunc(s.found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	return state
}

// tail calls hold for secrets that may begin at the end of the text and whose rest is missing.
func (s *scan) tail(state uint32) {
	s.keywords.Begun(state, func(length int, prefix uint32) bool {
		pos := len(s.text) - length
		if !s.leads[s.keywords.Index(prefix)] || !s.begins(pos) {
			return true
		}
		s.hold(pos)
		return false
	})
	s.middleTail()
}

// hold keeps the text open from a place on: text that follows may change what is found there.
func (s *scan) hold(pos int) { s.open = min(s.open, pos) }

// isLong notes what goes on from one place to another, and decides about what stands there, if it is
// so long that LookBack is too short for it.
func (s *scan) isLong(start, end int) {
	if end-start <= LookBack/2 {
		return
	}
	last := len(s.long) - 1
	if last >= 0 && s.long[last].Start == start {
		s.long[last].End = max(s.long[last].End, end)
	} else {
		s.long = append(s.long, Part{Start: start, End: end})
	}
}

// ownScore is the least score of what has a form of its own: whoever reads it knows what it is.
const ownScore = .9

// add adds a finding.
func (s *scan) add(rule string, start, end int, score float64) {
	if score >= ownScore {
		s.known = part{start, end}
	}
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
func (s *scan) begins(pos int) bool {
	if pos == 0 {
		return true
	}
	c := s.text[pos-1]
	if !isWord(c) && c != '+' {
		return true
	}
	if pos > 1 && s.text[pos-2] == '\\' {
		return c == 'n' || c == 'r' || c == 't'
	}
	return pos > 2 && s.text[pos-3] == '%' && isHex(c) && isHex(s.text[pos-2])
}
