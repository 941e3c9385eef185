package detect

import (
	"bytes"
	"strings"
)

// secretWords are parts of names that may make a value a secret. What the name says as a whole decides.
var secretWords = []string{"key", "token", "secret", "passw", "pwd", "passphrase", "pass", "credential", "creds", "auth", "apikey", "api"}

// What a name says of its value.
type meaning uint8

const (
	ordinary meaning = iota
	secretMeaning
	passwordMeaning
	loginMeaning // of an Authorization header
	passMeaning  // pass and pwd, which are a test's result and a directory as well
)

// word looks at the value that is assigned to a name with a secret word.
func (s *scan) word(start, end int) {
	if start > 0 && isLetter(s.text[start-1]) && isLetter(s.text[start]) && joined(s.text, start) && !s.isSuffix(start, end) {
		return
	}
	a, ok := s.assignment(start, end)
	if !ok {
		return
	}
	means := meaningOf(a.name)
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
	case means == passwordMeaning && isPassword(value), means == passMeaning && isPassword(value) && strings.IndexByte(value, '/') < 0:
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

// joined tells whether the letters before and at a place are of one word: aB and ABc are not.
func joined(text string, at int) bool {
	a, b := text[at-1], text[at]
	small := func(c byte) bool { return 'a' <= c && c <= 'z' }
	if small(a) != small(b) {
		return small(b) && isLetter(a)
	}
	return small(a) || at+1 >= len(text) || !small(text[at+1])
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
	a.start = i + 1
	for i = a.start; i < len(s.text) && i-a.start <= maxValue && unquotedSet[s.text[i]]; i++ {
	}
	a.end, a.open = i, i == len(s.text)
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

// meaningOf reads a name as English does: its last word says what it is, the ones before say of what. So secret_key is a key,
// and key_name a name.
func meaningOf(name string) meaning {
	means, qualified := ordinary, false
	for last := true; ; {
		word, rest := lastWord(name)
		if word == "" {
			break
		}
		name = rest
		var room [16]byte
		low := room[:0]
		for i := range min(len(word), len(room)) {
			low = append(low, lower(word[i]))
		}
		if last {
			switch string(low) {
			case "string", "str", "text", "value", "val", "var", "const", "env", "prod", "production", "dev", "test", "live",
				"base64", "b64", "hex", "raw", "plain", "default", "old", "new", "current", "is", "v":
				continue
			}
			if isDigit(word[0]) {
				continue
			}
		}
		if last {
			last = false
			if means = headOf(string(low)); means == ordinary {
				return ordinary
			}
			qualified = means != secretMeaning || string(low) != "key" && string(low) != "keys"
			continue
		}
		switch string(low) {
		case "public", "pub", "csrf", "xsrf", "primary", "foreign", "partition", "sort", "cache", "schema", "bucket", "row", "object", "map",
			"lookup", "issuer", "idempotency", "next", "page", "continuation", "cursor", "pagination", "dictionary", "sequence", "translation":
			return ordinary
		case "string", "var", "const", "let", "set", "export", "the", "a", "this", "self", "config", "data":
		default:
			qualified = true
		}
	}
	if !qualified {
		return ordinary
	}
	return means
}

// headOf is what a name's last word, in small letters and cut at 16, says.
func headOf(word string) meaning {
	switch word {
	case "key", "keys", "token", "tokens", "secret", "secrets", "credential", "credentials", "cred", "creds", "api", "bearer":
		return secretMeaning
	case "auth", "authorization":
		return loginMeaning
	case "password", "passwords", "passwd", "passphrase", "passcode":
		return passwordMeaning
	case "pass", "pwd":
		return passMeaning
	}
	for _, end := range [...]string{"token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authkey"} {
		if strings.HasSuffix(word, end) {
			return secretMeaning
		}
	}
	if strings.HasSuffix(word, "password") || strings.HasSuffix(word, "passwd") {
		return passwordMeaning
	}
	return ordinary
}

// lastWord cuts off the last word of a name in any of camelCase, snake_case, kebab-case and words.
func lastWord(name string) (word, rest string) {
	end := len(name)
	for end > 0 && !isLetter(name[end-1]) && !isDigit(name[end-1]) {
		end--
	}
	if end == 0 {
		return "", ""
	}
	start := end - 1
	for start > 0 && isDigit(name[start-1]) == isDigit(name[end-1]) && (isDigit(name[start-1]) || isLetter(name[start-1])) {
		if isLetter(name[start-1]) && !joined(name[:end], start) {
			break
		}
		start--
	}
	return name[start:end], name[:start]
}
