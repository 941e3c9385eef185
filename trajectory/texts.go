package trajectory

import (
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// deepest is how many texts of JSON, each in the one before, are read as JSON. Deeper ones are searched as text.
const deepest = 4

// text returns a text redacted and cut.
func (c cleaner) text(s string) string { return c.cut(c.redacted(s)) }

// redacted returns a text redacted: JSON as JSON, and any other text by its forms.
func (c cleaner) redacted(s string) string {
	search := len(c.keys) > 0 && !c.exact
	if !search && c.detect == nil || s == Redacted {
		return s
	}
	if isJSON, redacted := c.redactedJSON(s); isJSON {
		return redacted
	}
	if search {
		s = c.withoutSecrets(s)
	}
	if c.detect != nil {
		s = c.detect(s)
	}
	return s
}

// redactedJSON returns a text that is an object or an array of JSON redacted, and written anew if that changed it.
func (c cleaner) redactedJSON(s string) (isJSON bool, redacted string) {
	v := raw(strings.TrimSpace(s))
	if len(v) == 0 || v[0] != '{' && v[0] != '[' || c.depth == deepest || !v.IsValid(lenient) {
		return false, s
	}
	same, err := cleaner{limit: NoLimit}.clean(v)
	if err != nil {
		return false, s
	}
	c.limit = NoLimit
	c.depth++
	changed, err := c.clean(v)
	if err != nil {
		return false, s
	}
	if string(changed) != string(same) {
		s = string(changed)
	}
	return true, s
}

// Forms of secrets that have no name beside them.
var (
	privateKey = lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)
	userInfo   = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s/"'<>?#\\]+)(@)`)
	bearer     = lazyregexp.New(`(?i)(\bbearer\s+)([a-z0-9._~+/=-]{8,})()`)
	userFlag   = lazyregexp.New(`((?:^|\s)(?:-u|--user|--proxy-user)[ =]?\\*["']?)([^\s"'\\:]+:[^\s"'\\]+)()`)
)

// shortestToken is the length, in bytes, from which a word is taken for a token.
const shortestToken = 20

// withoutSecrets returns a text without the secrets in it: those of the forms above, and the values that stand behind
// a sensitive name.
func (c cleaner) withoutSecrets(s string) string {
	if strings.Contains(s, "PRIVATE KEY-----") {
		s = privateKey.ReplaceAllLiteralString(s, Redacted)
	}
	if strings.Contains(s, "://") {
		s = replaced(userInfo, s, func(user string) bool { return strings.Contains(user, ":") || len(user) >= shortestToken })
	}
	s = c.withoutNamed(s)
	if strings.Contains(s, "earer") || strings.Contains(s, "EARER") {
		s = replaced(bearer, s, func(token string) bool {
			return strings.ContainsAny(token, "0123456789") || len(token) >= shortestToken
		})
	}
	if strings.Contains(s, "-u") || strings.Contains(s, "-proxy-user") {
		s = replaced(userFlag, s, func(user string) bool { return strings.Trim(user, "0123456789:") != "" }) // not 1000:1000
	}
	return s
}

// replaced returns a text in which what isSecret takes for a secret is redacted: the second of a pattern's three groups.
func replaced(pattern lazyregexp.Regexp, s string, isSecret func(string) bool) string {
	return pattern.ReplaceAllStringFunc(s, func(match string) string {
		groups := pattern.FindStringSubmatch(match)
		if groups[2] == Redacted || !isSecret(groups[2]) {
			return match
		}
		return groups[1] + Redacted + groups[3]
	})
}

// withoutNamed returns a text without the values that stand behind a sensitive name: name=value, "name": "value",
// Name: value, --name value.
func (c cleaner) withoutNamed(s string) string {
	var out strings.Builder
	done := 0 // what of the text is in out
	for i := 0; i < len(s); {
		if !inName(s[i]) {
			i++
			continue
		}
		end := i
		for end < len(s) && inName(s[end]) {
			end++
		}
		name := s[i:end]
		i = end
		from, colon, ok := valueAfter(s, name, end)
		if !ok || !c.sensitive(name) {
			continue
		}
		from, to := valueAt(s, from, colon && isHeader(name))
		if from == to {
			continue
		}
		out.WriteString(s[done:from])
		out.WriteString(Redacted)
		done = to
		i = to
	}
	if done == 0 {
		return s
	}
	return out.String() + s[done:]
}

// inName reports whether a byte can be of a name.
func inName(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-' || b == '.'
}

// isHeader reports whether a name is that of a header whose value is all of its line.
func isHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie")
}

// valueAfter returns where the value begins that stands behind a name, which ends at end: behind "=", ":", ":=" or "=>", or
// behind spaces if the name is that of a flag. colon says that ":" is between them.
func valueAfter(s, name string, end int) (from int, colon, ok bool) {
	i := end
	for i < len(s) && s[i] == '\\' {
		i++
	}
	if i < len(s) && isQuote(s[i]) {
		end = i + 1
		if strings.HasPrefix(s[end:], "]") { // environ["KEY"] = …
			end++
		}
	}
	i = skipBlanks(s, end)
	rest := s[i:]
	for _, separator := range []string{":=", "=>", "=", ":"} {
		if strings.HasPrefix(rest, separator) {
			return skipBlanks(s, i+len(separator)), separator == ":", true
		}
	}
	isFlag := strings.HasPrefix(name, "-") && i > end && rest != "" && rest[0] != '-'
	return i, false, isFlag
}

func isQuote(b byte) bool { return b == '"' || b == '\'' || b == '`' }

func skipBlanks(s string, i int) int { return len(s) - len(strings.TrimLeft(s[i:], " \t")) }

// noSecrets are values that programs write where no secret is.
var noSecrets = map[string]bool{
	"None": true, "null": true, "nil": true, "undefined": true, "true": true, "false": true, "str": true, "string": true,
}

// valueAt returns where the secret of a value is that begins at from: nowhere, from == to, if the value is empty, is no
// secret, or has names of its own.
func valueAt(s string, from int, line bool) (begin, to int) {
	rest := s[from:]
	slashes := len(rest) - len(strings.TrimLeft(rest, `\`))
	if slashes < len(rest) && isQuote(rest[slashes]) {
		begin = from + slashes + 1
		return begin, notRedacted(s, begin, quotedEnd(s, begin, rest[slashes], slashes))
	}

	// A value without quotes ends with its word, that of some headers with its line.
	ends := " \t\r\n,;&\"'`<>()[]{}|\\"
	if line {
		ends = "\r\n\"'`\\"
	}
	to = wordEnd(s, from, ends)
	scheme := strings.ToLower(s[from:to])
	if scheme == "bearer" || scheme == "basic" || scheme == "token" {
		to = wordEnd(s, skipBlanks(s, to), ends)
	}
	value := s[from:to]
	if noSecrets[value] || strings.HasPrefix(value, "$") || strings.HasPrefix(value, "//") {
		return from, from
	}
	return from, notRedacted(s, from, to)
}

// notRedacted returns where a value ends that begins at from, or from if the value is redacted already.
func notRedacted(s string, from, to int) int {
	if strings.HasPrefix(s[from:], Redacted) {
		return from
	}
	return to
}

func wordEnd(s string, from int, ends string) int {
	n := strings.IndexAny(s[from:], ends)
	if n < 0 {
		return len(s)
	}
	return from + n
}

// quotedEnd returns where a text ends whose opening quote is before begin, behind so many backslashes: at the same
// quote behind as many, or with the text if there is none.
func quotedEnd(s string, begin int, quote byte, slashes int) int {
	for i := begin; ; i++ {
		n := strings.IndexByte(s[i:], quote)
		if n < 0 {
			return len(s)
		}
		i += n
		before := i
		for before > begin && s[before-1] == '\\' {
			before--
		}
		if n := i - before; n == slashes || slashes == 0 && n%2 == 0 {
			return i - slashes
		}
	}
}
