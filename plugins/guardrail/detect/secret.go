package detect

import (
	"cmp"
	"slices"
	"sync"
)

// Secrets returns the detector of secrets: tokens by the forms that their providers document, private keys, JSON Web
// Tokens, passwords in URLs and in commands, sessions in cookies, and values that are assigned to a name such as api_key
// and look random. What is found
// is the secret without its name, of type SECRET; Rule says which.
//
// A form tells a token from other text, not a live token from a revoked one. Placeholders (xxxx, EXAMPLE, ${VAR})
// and the public part of a pair are not secrets; a secret that looks like an ordinary word is not seen unless it
// is called a password.
func Secrets() Detector { return defaultSecrets() }

// secrets is the detector; it never changes once made.
type secrets struct {
	words  *keywords
	probes [][]probe // by keyword: what to look at where it ends
	leads  []bool    // by state: whether a secret may begin with what was read so far
	tokens []token
	names  []provider
}

// A scan is one pass over a text.
type scan struct {
	*secrets
	text  string
	found []Finding // overlapping ones too
	open  int       // nothing that begins before is undecided
	run   [2]int    // the last run of unquotedSet, so that it is not read from each of its places

	named, judged name       // the last one that something is assigned to, and the last whose meaning was looked at
	shared        assignment // what is assigned to named
}

// hold says that what may begin at a place is not decided yet.
func (s *scan) hold(at int) { s.open = min(s.open, at) }

func (s *scan) add(rule string, start, end int, score float64) {
	s.found = append(s.found, Finding{Type: "SECRET", Rule: rule, Start: start, End: end, Score: score})
}

// all looks at all of the text, and returns the automaton's state at its end.
func (s *scan) all() (state uint32) {
	for i := 0; i < len(s.text); i++ {
		state = s.words.step(state, s.text[i])
		if state < s.words.first {
			continue
		}
		for _, word := range s.words.found(state) {
			for _, p := range s.probes[word] {
				s.look(p, i+1-int(s.words.size[word]), i+1)
			}
		}
	}
	slices.SortStableFunc(s.found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	return state
}

// tail holds what the text's end may be the beginning of.
func (s *scan) tail(state uint32) {
	s.words.begun(state, func(length int, prefix uint32) bool {
		at := len(s.text) - length
		if !s.leads[prefix/s.words.width] || !s.begins(at) {
			return true
		}
		s.hold(at)
		return false
	})
	s.azureTail()
	s.telegramTail()
}

// scans keeps the room for findings that a scan has made.
var scans = sync.Pool{New: func() any { return new(scan) }}

// begin returns a scan of a text, which is to end.
func (d *secrets) begin(text string) *scan {
	s := scans.Get().(*scan)
	*s = scan{secrets: d, text: text, found: s.found[:0], open: len(text)}
	return s
}

// end gives back the scan, and keeps nothing of its text.
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

func (d *secrets) Open(text string) int {
	s := d.begin(text)
	defer s.end()
	s.tail(s.all())
	return uncut(s.found, s.open)
}

// begins tells whether a token may begin at a place: no letter or digit and no + is before it, unless that is the
// end of an escape such as \n or %3D.
func (s *scan) begins(at int) bool {
	if at == 0 || !isWord(s.text[at-1]) && s.text[at-1] != '+' {
		return true
	}
	c := s.text[at-1]
	if at > 1 && s.text[at-2] == '\\' {
		return c == 'n' || c == 'r' || c == 't'
	}
	return at > 2 && s.text[at-3] == '%' && isHex(c) && isHex(s.text[at-2])
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
