package detect

import (
	"bytes"
	"hash/crc32"
	"strings"
)

// A token is a form that begins with a prefix of its own.
type token struct {
	rule    string
	prefix  string
	rest    pattern
	entropy float64 // of what follows the prefix, in bits a byte, at least
	check   func(rest string) (score float64, ok bool)
}

// token looks for one at a prefix.
func (s *scan) token(t *token, start, end int) {
	if s.text[start:end] != t.prefix || !s.begins(start) {
		return
	}
	v := t.rest.match(s.text, end)
	if v.open {
		s.hold(start)
	}
	if !v.ok {
		return
	}
	if t.rule == gcpKey && !s.isNamed(start) {
		return
	}
	rest := s.text[end:v.end]
	if isPlaceholder(rest) || entropy(rest) < t.entropy {
		return
	}
	score := .9
	if t.check != nil {
		sure, ok := t.check(rest)
		if !ok {
			return
		}
		score = sure
	}
	s.add(t.rule, start, v.end, score)
}

// gcpKey is the rule of Google's API keys. Google says that they name a project and may stand in apps: a lone one is
// no secret, one that is assigned, in a URL, quoted or spoken of as a key is.
const gcpKey = "gcp-api-key"

// isNamed tells whether a value is said to be something, within 64 bytes before it.
func (s *scan) isNamed(start int) bool {
	before := strings.TrimRight(s.text[max(0, start-64):start], " \t\r\n")
	if before != "" && strings.IndexByte("=:,>\"'`(", before[len(before)-1]) >= 0 {
		return true
	}
	for i := range len(before) {
		for _, word := range [...]string{"key", "token", "secret", "credential", "google", "gemini", "gcp"} {
			if foldPrefix(before[i:], word) {
				return true
			}
		}
	}
	return false
}

// githubSum is surer of a token whose last six characters are the base62 CRC-32 of those before, as GitHub says of
// its tokens of 36 characters.
func githubSum(rest string) (float64, bool) {
	if len(rest) != 36 {
		return .9, true
	}
	sum, n := crc32.ChecksumIEEE([]byte(rest[:30])), 0
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for i := 35; i >= 30; i-- {
		if rest[i] == digits[sum%62] {
			n++
		}
		sum /= 62
	}
	if n == 6 {
		return 1, true
	}
	return .9, true
}

// mixed wants what looks random, with letters of both cases, for prefixes that ordinary text has too.
func mixed(rest string) (float64, bool) {
	return .8, isRandom(rest) && strings.ToLower(rest) != rest && strings.ToUpper(rest) != rest
}

// random wants what looks random, for prefixes that names in code have too.
func random(rest string) (float64, bool) { return .9, isRandom(rest) }

// digits wants at least two digits, for forms that long names in code have too.
func digits(rest string) (float64, bool) {
	n := 0
	for i := range len(rest) {
		if isDigit(rest[i]) {
			n++
		}
	}
	return .9, n >= 2
}

// endsAA wants the end that all of Anthropic's keys have.
func endsAA(rest string) (float64, bool) { return .95, rest[len(rest)-2:] == "AA" }

// endsEqual wants the end of base64 of 32 bytes in a URL.
func endsEqual(rest string) (float64, bool) {
	return .9, strings.HasSuffix(rest, "%3D") || strings.HasSuffix(rest, "%3d")
}

// sentryJSON wants what Sentry's organisation tokens hold: where and when they were made.
func sentryJSON(rest string) (float64, bool) {
	var room [600]byte
	json := decode64(room[:0], rest)
	return 1, bytes.HasPrefix(json, []byte(`{"iat":`)) && bytes.Contains(json, []byte(`"region_url"`))
}

// azure looks for a client secret of Entra ID: three characters, a digit, Q~, and 31 to 34 more.
func (s *scan) azure(end int) {
	start := end - 6
	if start < 0 || s.text[end-2:end] != "Q~" || !isDigit(s.text[end-3]) || !azureBegins(s.text, start) {
		return
	}
	v := azureRest.match(s.text, end)
	if v.open {
		s.hold(start)
	}
	if v.ok && !isPlaceholder(s.text[end:v.end]) && entropy(s.text[start:v.end]) >= 3.3 {
		s.add("azure-client-secret", start, v.end, .95)
	}
}

// azureTail holds what may be the beginning of one.
func (s *scan) azureTail() {
	for n := 5; n > 0; n-- {
		at := len(s.text) - n
		if at < 0 || n == 5 && s.text[at+4] != 'Q' || n >= 4 && !isDigit(s.text[at+3]) || !azureBegins(s.text, at) {
			continue
		}
		s.hold(at)
		return
	}
}

func azureBegins(text string, at int) bool {
	for i := at; i < min(at+3, len(text)); i++ {
		if !azureSet[text[i]] {
			return false
		}
	}
	return at == 0 || !azureSet[text[at-1]] || at > 1 && text[at-2] == '\\'
}

var (
	azureSet  = readSet("A-Za-z0-9_~.-")
	azureRest = forms{}.read("[A-Za-z0-9_~.-]{31,34}")
)
