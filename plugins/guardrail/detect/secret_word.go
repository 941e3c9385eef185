package detect

import (
	"bytes"
	"strings"
)

// secretWords are parts of names that may make a value a secret. What the name says as a whole decides.
var secretWords = []string{"key", "token", "secret", "passw", "pwd", "passphrase", "pass", "credential", "creds", "auth", "apikey", "api"}

// word looks at the value that is assigned to a name with a secret word.
func (s *scan) word(start, end int) {
	if start > 0 && isLetter(s.text[start-1]) && isLetter(s.text[start]) && joined(s.text, start) && !s.isSuffix(start, end) {
		return
	}
	if a, ok := s.assignment(start, end); ok {
		s.assigned(a, meaningOf(a.name))
	}
}

// assigned looks at the value of a name that means something.
func (s *scan) assigned(a assignment, means meaning) {
	if means == ordinary {
		return
	}
	if means == loginMeaning {
		a = s.scheme(a)
	}
	if a.open {
		s.hold(a.start)
	}
	value := s.text[a.start:a.end]
	if means == secretMeaning && !a.quoted {
		value = strings.TrimRight(value, "!?")
	}
	rule, score := "", .6
	switch {
	case means == passwordMeaning && isPassword(value), means == passMeaning && isPassword(value) && strings.IndexByte(value, '/') < 0 && strings.ContainsAny(value, "0123456789"):
		rule = "password"
	case means == loginMeaning && isLogin(value):
		rule = "authorization"
	case means == secretMeaning && len(value) >= 20 && isRandom(value) && !isPlaceholder(value):
		rule = "assigned-secret"
	}
	if rule != "" {
		s.add(rule, a.start, a.start+len(value), score)
	}
}

// isSuffix tells whether the word before is one that names of secrets are made of without a seam, as in authtoken.
func (s *scan) isSuffix(start, end int) bool {
	switch w := s.text[start:end]; len(w) {
	case 3: // key, pwd, api
		return start > 3 && (foldPrefix(s.text[start-3:start], "api") || foldPrefix(s.text[start-3:start], "ces") || foldPrefix(s.text[start-3:start], "ret") ||
			foldPrefix(s.text[start-3:start], "ess") || foldPrefix(s.text[start-3:start], "ate") || foldPrefix(s.text[start-3:start], "uth"))
	case 4, 7: // auth, pass
		return false
	}
	return true
}

// scheme goes on past the scheme of an Authorization header.
func (s *scan) scheme(a assignment) assignment {
	i := a.end
	if i >= len(s.text) || s.text[i] != ' ' || i-a.start > 12 {
		return a
	}
	for j := a.start; j < i; j++ {
		if c := s.text[j]; !isLetter(c) && c != '-' {
			return a
		}
	}
	a.start, a.end = i+1, s.unquoted(i+1)
	a.open = a.end == len(s.text) && a.end-a.start <= maxValue
	return a
}

// isLogin tells whether a value is what an Authorization header carries: random, or user:password in base64.
func isLogin(value string) bool {
	if isPlaceholder(value) || len(value) > maxValue {
		return false
	}
	if isRandom(value) {
		return true
	}
	var room [maxValue]byte
	plain := decode64(room[:0], value)
	user, password, ok := bytes.Cut(plain, []byte(":"))
	if len(value) < 8 || !ok || len(user)+len(password) < 6 {
		return false
	}
	for _, c := range plain {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
