package trajectory

import (
	"slices"
	"strings"
	"unicode"
)

// SensitiveKeys returns the keys whose values are redacted by default. Redact says what else each of them means.
func SensitiveKeys() []string {
	return []string{
		"api_key", "token", "secret", "password", "credential", "authorization", "bearer", // as gepa-adk has them
		"access_key", "account_key", "api_keys", "auth_key", "cookie", "cookies", "credentials", "encryption_key",
		"jwt", "passphrase", "passwd", "passwords", "private_key", "secret_key", "secrets", "session_id", "session_key",
		"sig", "signing_key", "ssh_key", "x_amz_signature", "x_goog_signature",
	}
}

// pageTokens end as a sensitive key does, and say where a list goes on.
var pageTokens = folded([]string{"page_token", "sync_token", "continuation_token"})

// joined are the sensitive keys that end many a name without anything between words: PGPASSWORD, accesstoken.
var joined = []string{"password", "passwd", "passphrase", "token", "secret", "apikey"}

// folded returns the set of keys, each with its words joined.
func folded(keys []string) map[string]bool {
	set := map[string]bool{}
	for _, k := range keys {
		set[strings.Join(words(k), "")] = true
	}
	return set
}

// words returns the words of a name in lower case: "dbPassword", "DB-PASSWORD" and "user:db_password" end with the same two.
func words(name string) (list []string) {
	runes := []rune(name)
	begin := 0
	end := func(i int) {
		if begin < i {
			list = append(list, strings.ToLower(string(runes[begin:i])))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
			begin = i + 1
		case i > begin && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end(i)
			begin = i
		}
	}
	end(len(runes))
	return list
}

// sensitive reports whether the value of a key is redacted.
func (c cleaner) sensitive(key string) bool {
	switch {
	case c.exact:
		return c.keys[key]
	case len(c.keys) == 0:
		return false
	}
	if numbered := strings.TrimRight(key, "0123456789_-"); numbered != key && c.sensitive(numbered) {
		return true // password2
	}
	list := words(key)
	if len(list) > 0 && c.endsJoined(list[len(list)-1]) {
		return true
	}
	ending := ""
	for i, word := range slices.Backward(list) {
		ending = word + ending
		if c.keys[ending] {
			longer := list[max(i-1, 0)] + ending
			return !pageTokens[longer] || c.keys[longer]
		}
	}
	return false
}

// endsJoined reports whether a word is two, the second of which is a sensitive key.
func (c cleaner) endsJoined(word string) bool {
	for page := range pageTokens {
		if strings.HasSuffix(word, page) {
			return false
		}
	}
	return slices.ContainsFunc(joined, func(key string) bool {
		return c.keys[key] && len(word) > len(key) && strings.HasSuffix(word, key)
	})
}

// names are the keys of a pair whose value names that of its member "value", as headers and environments have it.
var names = map[string]bool{"name": true, "key": true, "header": true, "variable": true}

// A pairs finds values that a text names which stands before them: in {"name": "Authorization", "value": …}, and in
// ["--password", …].
type pairs struct {
	c     cleaner
	key   string       // of the member at hand
	named map[int]bool // the depths of objects whose name is sensitive
	flag  int          // the depth of the array whose text before was a sensitive flag, or 0
}

// hides reports whether the value of a key, or of a text in an array, is redacted. It is asked about each token.
func (p *pairs) hides(tok token, isKey bool, from *decoder) bool {
	depth := from.StackDepth()
	flagged := p.flag == depth && depth > 0
	p.flag = 0
	kind := tok.Kind()
	switch {
	case kind == '{':
		delete(p.named, depth)
	case isKey:
		p.key = strings.ToLower(tok.String())
		return p.named[depth] && p.key == "value"
	case kind != '"':
	default:
		value := tok.String()
		if in, _ := from.StackIndex(depth); in == '{' {
			p.named[depth] = p.named[depth] || names[p.key] && p.c.sensitive(value)
			break
		}
		if strings.HasPrefix(value, "-") && p.c.sensitive(value) && !strings.ContainsAny(value, "= \t\n") {
			p.flag = depth
		}
		return flagged && p.flag == 0 && !strings.HasPrefix(value, "-")
	}
	return false
}
