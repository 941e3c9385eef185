package detect

import (
	"bytes"
	"strings"
)

// secretWords are parts of names that may make a value a secret. What the name says as a whole decides.
var secretWords = []string{"key", "token", "secret", "passw", "pwd", "passphrase", "pass", "credential", "creds", "auth", "apikey", "api",
	"pw", "pswd", "pword", "psk", "sessid", "sessionid", "_session"}

// word looks at the value that is assigned to a name with a secret word.
func (s *scan) word(start, end int) {
	if start > 0 && isLetter(s.text[start-1]) && isLetter(s.text[start]) && joined(s.text, start) && !s.isSuffix(start, end) {
		return
	}
	n := s.nameAround(start, end)
	if a, ok := s.bareValue(n, end); ok { // whatever comes behind it: a value that was found in a stream stays one
		s.assigned(a, meaningOf(a.name))
	}
	if n == s.judged {
		return
	}
	if a, ok := s.english(n, end); ok && !a.bare {
		s.assigned(a, meaningOf(a.name))
		s.judged = n
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
	if (a.listed || a.loose) && means != secretMeaning {
		return
	}
	if strings.HasPrefix(s.text[a.start:a.end], "base64:") {
		a.start += len("base64:")
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
	case a.spoken && isMeasure(value):
	case a.paired && means == loginMeaning && isPassword(value):
		rule = "password"
	case means == passwordMeaning && isPassword(value), means == passMeaning && isPassword(value) && strings.IndexByte(value, '/') < 0 && strings.ContainsAny(value, "0123456789"):
		rule = "password"
	case means == loginMeaning && isLogin(value):
		rule = "authorization"
	case a.header && (means == secretMeaning || means == loginMeaning) && len(value) >= 8 && isPassword(value):
		rule = "authorization"
	case a.loose && !(hasUpper(value) && hasLower(value)):
	case means == secretMeaning && (len(value) >= 20 || len(value) >= 16 && !a.loose && hasUpper(value) && !isAllHex(value)) && isRandom(value) && !isPlaceholder(value) && !isPublic(value):
		rule = "assigned-secret"
	}
	if rule != "" {
		s.add(rule, a.start, a.start+len(value), score)
	}
}

func hasUpper(value string) bool {
	for i := range len(value) {
		if 'A' <= value[i] && value[i] <= 'Z' {
			return true
		}
	}
	return false
}

func hasLower(value string) bool {
	for i := range len(value) {
		if 'a' <= value[i] && value[i] <= 'z' {
			return true
		}
	}
	return false
}

// isSuffix tells whether the word before is one that names of secrets are made of without a seam, as in authtoken.
func (s *scan) isSuffix(start, end int) bool {
	switch w := s.text[start:end]; len(w) {
	case 2: // pw
		return false
	case 3: // key, pwd, api
		return start > 3 && (foldPrefix(s.text[start-3:start], "api") || foldPrefix(s.text[start-3:start], "ces") || foldPrefix(s.text[start-3:start], "ret") ||
			foldPrefix(s.text[start-3:start], "ess") || foldPrefix(s.text[start-3:start], "ate") || foldPrefix(s.text[start-3:start], "ite") || foldPrefix(s.text[start-3:start], "ter") || foldPrefix(s.text[start-3:start], "nse") || foldPrefix(s.text[start-3:start], "uth"))
	case 4: // pass, auth
		for _, first := range passFirst {
			if n := start - len(first); n >= 0 && foldPrefix(w, "pass") && foldPrefix(s.text[n:start], first) && (n == 0 || !isLetter(s.text[n-1])) {
				return true
			}
		}
		return false
	case 7:
		return false
	}
	return true
}

// passFirst is what stands before pass in names without a seam, such as dbpass; compass and bypass are none.
var passFirst = [...]string{"db", "my", "user", "root", "admin", "ftp", "smtp", "mail", "store", "key", "ssh", "ldap", "sudo", "http", "sql", "mysql"}

// isMeasure tells whether a value says how long something is: 8-character, 12-stellig.
func isMeasure(value string) bool {
	n := 0
	for n < len(value) && isDigit(value[n]) {
		n++
	}
	if n == 0 || n == len(value) || value[n] != '-' {
		return false
	}
	for _, c := range []byte(value[n+1:]) {
		if !isLetter(c) {
			return false
		}
	}
	return true
}

// isPublic tells whether a value is the public part of a pair, or the path of a file.
func isPublic(value string) bool {
	dot := strings.LastIndexByte(value, '.')
	return strings.HasPrefix(value, "pk_live_") || strings.HasPrefix(value, "pk_test_") ||
		dot > 0 && len(value)-dot <= 5 && strings.IndexByte(value[:dot], '/') > 0
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
	return len(value) <= maxValue && !isPlaceholder(value) && (isRandom(value) || isBasic(value))
}

// isBasic tells whether a value is user:password in base64.
func isBasic(value string) bool {
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
