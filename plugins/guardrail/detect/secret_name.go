package detect

import (
	"slices"
	"strings"
)

// What a name says of its value.
type meaning uint8

const (
	ordinary meaning = iota
	secretMeaning
	passwordMeaning
	loginMeaning // of an Authorization header
	passMeaning  // pass and pwd, which are a test's result and a directory as well
)

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
				"base", "base64", "b64", "hex", "raw", "plain", "default", "old", "new", "current", "is", "v":
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
			"lookup", "issuer", "sync", "etag", "site", "sitekey", "authenticity", "verification", "antiforgery", "publishable", "idempotency", "next", "page", "continuation", "cursor", "pagination", "dictionary", "sequence", "translation":
			return ordinary
		case "recv", "dedupe", "dedup", "deduplication", "shard", "grouping", "unique", "composite", "surrogate", "correlation", "image", "asset", "photo", "artifact":
			if !qualified { // right before key
				return ordinary
			}
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
	case "sessid", "sessionid", "phpsessid", "jsessionid", "session":
		return secretMeaning
	case "password", "passwords", "passwd", "passphrase", "passcode", "pswd", "pword", "psk":
		return passwordMeaning
	case "pass", "pwd", "pw":
		return passMeaning
	}
	if first, ok := strings.CutSuffix(word, "pass"); ok && slices.Contains(passFirst[:], first) {
		return passMeaning
	}
	for _, end := range [...]string{"token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "writekey", "masterkey", "licensekey"} {
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

// joined tells whether the letters before and at a place are of one word: aB and ABc are not.
func joined(text string, at int) bool {
	a, b := text[at-1], text[at]
	small := func(c byte) bool { return 'a' <= c && c <= 'z' }
	if small(a) != small(b) {
		return small(b) && isLetter(a)
	}
	return small(a) || at+1 >= len(text) || !small(text[at+1])
}
