package trajectory

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Redacted is what stands in the place of a redacted value.
const Redacted = "[REDACTED]"

// SensitiveKeys returns the keys whose values are redacted by default.
func SensitiveKeys() []string {
	return []string{"api_key", "token", "secret", "password", "credential", "authorization", "bearer"}
}

// A cleaner redacts values of JSON and cuts their texts, as Config says. It keeps the order of members, and
// numbers to the digit.
type cleaner struct {
	keys  map[string]bool // folded
	limit int             // in runes; negative: texts are not cut
}

var hyphens = strings.NewReplacer("_", "", "-", "")

// fold returns a key in lower case, without "_" and "-", which do not count when keys are compared.
func fold(key string) string { return hyphens.Replace(strings.ToLower(key)) }

// clean returns the value redacted and cut. It fails if the value is not JSON.
func (c cleaner) clean(v jsontext.Value) (jsontext.Value, error) {
	var out bytes.Buffer
	from := newDecoder(v)
	to := newEncoder(&out)
	if err := c.copyValue(to, from); err != nil {
		return nil, fmt.Errorf("trajectory: not a JSON value: %w", err)
	}
	return written(&out), nil
}

// copyValue copies the next value, redacted and cut.
func (c cleaner) copyValue(to *encoder, from *decoder) error {
	return copyValue(to, from, func(tok token, isKey bool) (token, bool) {
		switch {
		case isKey:
			return tok, len(c.keys) > 0 && c.keys[fold(tok.String())]
		case tok.Kind() == '"':
			return text(c.cut(tok.String())), false
		}
		return tok, false
	}, func(to *encoder, from *decoder) error {
		if err := from.SkipValue(); err != nil {
			return err
		}
		return to.WriteToken(text(Redacted))
	})
}

// copyValue copies the next JSON value, token by token. It calls visit with each member name and each value, and
// writes the token that visit returns. If visit returns true for a name, copyValue calls replace, which writes the
// value of that member itself.
func copyValue(to *encoder, from *decoder,
	visit func(tok token, isKey bool) (token, bool),
	replace func(to *encoder, from *decoder) error) error {
	depth := from.StackDepth()
	for {
		// In an object, names and values take turns, and a name comes first.
		kind, length := from.StackIndex(from.StackDepth())
		next := from.PeekKind()
		isKey := kind == '{' && length%2 == 0 && next != '}'

		tok, err := from.ReadToken()
		if err != nil {
			return err
		}
		tok, special := visit(tok, isKey)
		if err := to.WriteToken(tok); err != nil {
			return err
		}
		if special {
			if err := replace(to, from); err != nil {
				return err
			}
		}
		if from.StackDepth() == depth {
			return nil
		}
	}
}

// cut returns a text with no more than the limit's characters and the words that say so. What is Redacted
// stays, so that a reader can tell it.
func (c cleaner) cut(s string) string {
	if c.limit < 0 || len(s) <= c.limit || s == Redacted {
		return s
	}
	more := utf8.RuneCountInString(s) - c.limit
	if more <= 0 {
		return s
	}
	end := 0
	for range c.limit {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return fmt.Sprintf("%s...[truncated %d chars]", s[:end], more)
}

// userValues are the members of a content below which the keys are the user's own: values there are cleaned, and keys are
// never renamed.
var userValues = map[string]bool{"args": true, "response": true, "partMetadata": true}

// cleanContent cleans the arguments and responses in a content's JSON.
func (c cleaner) cleanContent(content raw) (raw, error) {
	return rewrite(content, func(name string) string { return name }, c.copyValue)
}

// rewrite returns a content's JSON with its members renamed. value writes those in userValues.
func rewrite(content raw, rename func(string) string,
	value func(*encoder, *decoder) error) (raw, error) {
	var out bytes.Buffer
	from := newDecoder(content)
	to := newEncoder(&out)
	err := copyValue(to, from, func(tok token, isKey bool) (token, bool) {
		if !isKey {
			return tok, false
		}
		name := tok.String()
		return text(rename(name)), userValues[name]
	}, value)
	return written(&out), err
}
