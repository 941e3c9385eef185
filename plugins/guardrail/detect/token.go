package detect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// A token is a prefix, and the form of what follows it.
type token struct {
	rule     string
	prefix   string
	rest     pattern.Pattern
	entropy  float64 // of what follows the prefix, in bits a byte, at least
	check    tokenCheck
	least    int  // how many bytes follow the prefix at least
	most     int  // and at most
	distinct bool // no other text is likely to begin with the prefix
}

// isDistinct tells whether no other text is likely to begin with a prefix: it has at least four
// characters, or three of which the last is a mark, and more than common words and than hexadecimal digits.
func isDistinct(prefix string) bool {
	if len(prefix) < 3 || len(prefix) == 3 && isAlnum(prefix[2]) {
		return false
	}
	words := strings.FieldsFunc(prefix, func(r rune) bool { return !isAlnum(byte(r)) })
	return slices.ContainsFunc(words, func(word string) bool {
		return !slices.Contains(commonWords, lowerASCII(word)) && !isHexID(word)
	})
}

// commonWords are words that tokens of many providers begin with.
var commonWords = []string{
	"access", "api", "ext", "key", "live", "mob", "oauth", "pat", "pk", "sandbox", "sat", "sc", "sdk",
	"secret", "sess", "sk", "standard", "test", "token",
}

// A tokenCheck looks at what follows a prefix. It says whether that is a token, and how sure it is.
type tokenCheck func(rest string) (score float64, ok bool)

// tokenChecks are the checks by the names that tokens.txt has for them.
var tokenChecks = map[string]tokenCheck{
	"digits":     hasDigits,
	"random":     looksRandom,
	"mixed":      looksMixed,
	"ends-equal": endsWithEqual,
}

// formsOf reads the forms of a cell.
func formsOf(parser *pattern.Parser, row table.Row, cell int) (forms []pattern.Pattern) {
	for source := range strings.FieldsSeq(row.Cells[cell]) {
		forms = append(forms, parser.Parse(source))
	}
	return forms
}

// readTokens reads the forms of tokens.
func readTokens(parser *pattern.Parser) (tokens []token) {
	rows := rowsOf("tokens.txt", "rule", "prefixes", "forms", "entropy", "check")
	tokens = make([]token, 0, 2*len(rows))
	for _, row := range rows {
		rests := formsOf(parser, row, 2)
		entropy, err := strconv.ParseFloat(row.Cells[3], 64)
		check := tokenChecks[row.Cells[4]]
		if err != nil || check == nil && row.Cells[4] != "" {
			row.Fail("%q is no entropy, or there is no check %q", row.Cells[3], row.Cells[4])
		}
		for prefix := range strings.FieldsSeq(row.Cells[1]) {
			for _, rest := range rests {
				least, most := rest.Lengths()
				tokens = append(tokens, token{
					rule:     row.Cells[0],
					prefix:   prefix,
					rest:     rest,
					entropy:  entropy,
					check:    check,
					least:    least,
					most:     most,
					distinct: isDistinct(prefix),
				})
			}
		}
	}
	return tokens
}

// leastWords is how long the rest of a token is at least that may be words and digits: of shorter ones,
// such as those of AWS, one of some hundred is by chance. Without a digit, one of ten thousand is.
const leastWords = 24

// token looks for a token at its prefix.
func (s *scan) token(t *token, start, end int) {
	if s.text[start:end] != t.prefix || !s.begins(start) {
		return
	}
	match := t.rest.Match(s.text, end)
	s.isLong(start, match.End)
	if match.Open {
		s.hold(start)
	}
	if !match.OK {
		return
	}
	if t.rule == gcpKey && !s.isNamed(start) {
		return
	}
	rest := s.text[end:match.End]
	if !s.isDrawn(rest, t.entropy) ||
		(len(rest) >= leastWords || !strings.ContainsAny(rest, "0123456789")) && isWords(rest) {
		return
	}
	score := .9
	if t.check != nil {
		var ok bool
		score, ok = t.check(rest)
		if !ok {
			return
		}
	}
	s.add(t.rule, start, match.End, score)
}

// gcpKey is the rule of Google's API keys. Google says that they name a project and may stand in
// apps: one that stands alone is no secret; one that is assigned, in a URL, quoted or spoken of as
// a key is.
const gcpKey = "gcp-api-key"

// isNamed tells whether a value is said to be something, within 64 bytes before it.
func (s *scan) isNamed(start int) bool {
	before := strings.TrimRight(s.text[max(0, start-64):start], " \t\r\n")
	if before != "" && strings.IndexByte("=:,>\"'`(", before[len(before)-1]) >= 0 {
		return true
	}
	return mentions(before, wordsForKeys)
}

var wordsForKeys = []string{"key", "token", "secret", "credential", "google", "gemini", "gcp"}

// looksMixed accepts what looks random and has letters of both cases, for prefixes that ordinary
// text has too.
func looksMixed(rest string) (float64, bool) {
	return .8, isRandom(rest) && upperSet.HasAny(rest) && lowerSet.HasAny(rest)
}

// looksRandom accepts what looks random, for prefixes that names in code have too.
func looksRandom(rest string) (float64, bool) { return .9, isRandom(rest) }

// hasDigits accepts at least two digits, for forms that long names in code have too.
func hasDigits(rest string) (float64, bool) {
	first := strings.IndexAny(rest, "0123456789")
	return .9, first >= 0 && digitSet.HasAny(rest[first+1:])
}

// endsWithEqual accepts the end of base64 of 32 bytes in a URL.
func endsWithEqual(rest string) (float64, bool) {
	return .9, strings.HasSuffix(rest, "%3D") || strings.HasSuffix(rest, "%3d")
}

// A middleToken is a token that is known by its middle: a row of middle_tokens.txt.
type middleToken struct {
	rule    string
	middle  string
	before  int // how many bytes may stand before the middle
	form    pattern.Pattern
	entropy float64 // of what follows the middle, in bits a byte, at least
}

// readMiddleTokens reads the tokens that are known by their middle.
func readMiddleTokens(parser *pattern.Parser) (tokens []middleToken) {
	for _, row := range rowsOf("middle_tokens.txt", "rule", "before", "middle", "after", "entropy") {
		_, before := parser.Parse(row.Cells[1]).Lengths()
		entropy, err := strconv.ParseFloat(row.Cells[4], 64)
		if err != nil {
			row.Fail("%q is no entropy", row.Cells[4])
		}
		tokens = append(tokens, middleToken{
			rule:    row.Cells[0],
			middle:  row.Cells[2],
			before:  before,
			form:    parser.Parse(row.Cells[1] + row.Cells[2] + row.Cells[3]),
			entropy: entropy,
		})
	}
	return tokens
}

// middleToken looks for a token around its middle, which is text[start:end].
func (s *scan) middleToken(t *middleToken, start, end int) {
	for from := max(0, start-t.before); from < start; from++ {
		if !s.beginsBefore(t, from) {
			continue
		}
		match := t.form.Match(s.text, from)
		if match.Open {
			s.hold(from)
		}
		if match.OK && match.End > end && s.isDrawn(s.text[end:match.End], t.entropy) {
			s.add(t.rule, from, match.End, .95)
			return
		}
	}
}

// beginsBefore tells whether such a token may begin at a place: no byte that may begin it is
// before, either, unless that is the end of an escape.
func (s *scan) beginsBefore(t *middleToken, from int) bool {
	if !s.begins(from) {
		return false
	}
	return from == 0 || isWord(s.text[from-1]) || !t.form[0].Set[s.text[from-1]]
}

// middleTail calls hold where the text ends with what may be the beginning of such a token.
func (s *scan) middleTail() {
	for i := range s.middleTokens {
		t := &s.middleTokens[i]
		for from := max(0, len(s.text)-t.before-len(t.middle)+1); from < len(s.text); from++ {
			if s.beginsBefore(t, from) && t.form.Match(s.text, from).Open {
				s.hold(from)
			}
		}
	}
}
