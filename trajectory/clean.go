package trajectory

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Redacted is what stands in the place of a redacted value.
const Redacted = "[REDACTED]"

// Redact returns a copy of a value of JSON without secrets.
//
// The whole value of each key that is listed becomes Redacted, whatever its type, in objects at any depth. Keys are
// compared by their words, without regard to case and to what is between words, and by their ending: "token" lists
// "Token", "user:token", "github_token" and "githubToken", and neither "token_count" nor "max_tokens". Digits at the end
// of a key do not count, and password, passwd, passphrase, token, secret and apikey are found at the end of a word, too
// (PGPASSWORD). Tokens that say where a list goes on ("page_token") are no secrets, unless they are listed. A listed name
// may also be a value: of {"name": "Authorization", "value": …} and of ["--password", …] the second is redacted.
//
// Texts are searched, too. One that is JSON is redacted as JSON. In any other, Redacted stands in the place of what a
// listed name has behind it (name=value, "name": "value", Name: value, --name value), of users and passwords in URLs and
// behind curl's -u, of bearer tokens, and of private keys in PEM. No keys redact nothing.
//
// gepa-adk compares keys to the letter and searches no texts, which lets the same secret through under another name;
// Config.ExactKeys does so.
//
// The copy has maps, slices and texts as session.DecodeValue makes them; that of a jsontext.Value is a
// jsontext.Value, with its members in their order. What cannot be written as JSON becomes nil.
func Redact(v any, keys []string) any {
	return cleaned(v, cleaner{keys: folded(keys), limit: NoLimit})
}

// Truncate returns a copy of a JSON value in which long texts are cut. A text of more than limit characters (runes) keeps
// its first limit characters, and "...[truncated N chars]" follows, where N is how many were cut off. Keys and numbers
// stay. A negative limit cuts nothing. The copy has the Go types that Redact names.
//
// A text that is Redacted stays, so that a reader can tell it. gepa-adk cuts it, too.
func Truncate(v any, limit int) any { return cleaned(v, cleaner{limit: limit}) }

func cleaned(v any, c cleaner) any {
	data, ordered := v.(jsontext.Value)
	if !ordered {
		encoded, err := encode(v)
		if err != nil {
			return nil
		}
		data = encoded
	}
	data, err := c.clean(data)
	if err != nil {
		return nil
	}
	if ordered {
		return data
	}
	decoded, err := session.DecodeValue(data)
	if err != nil {
		return nil
	}
	return decoded
}

// A cleaner redacts values of JSON and cuts their texts. It keeps the order of members, and numbers to the
// digit.
type cleaner struct {
	keys   map[string]bool // folded, unless exact
	exact  bool
	detect func(string) string // nil, or what each text goes through
	limit  int                 // in runes; negative: texts are not cut
	depth  int                 // how many texts of JSON the value is in
}

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
	pairs := pairs{c: c, named: map[int]bool{}}
	return copyValue(to, from, func(tok token, isKey bool) (token, bool) {
		hides := !c.exact && len(c.keys) > 0 && pairs.hides(tok, isKey, from)
		switch {
		case isKey:
			return tok, hides || c.sensitive(tok.String())
		case hides:
			return text(Redacted), false
		case tok.Kind() == '"':
			return text(c.text(tok.String())), false
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

// cut returns a text with no more than the limit's characters and the words that say so.
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

// detected returns an event with what users and agents say in it as detect leaves it.
func (c cleaner) detected(e *session.Event) *session.Event {
	if c.detect == nil {
		return e
	}
	e = e.Clone()
	e.ErrorMessage = c.detect(e.ErrorMessage)
	contents := []*genai.Content{e.Content}
	if e.Actions.Compaction != nil {
		contents = append(contents, e.Actions.Compaction.Content)
	}
	for _, content := range contents {
		if content == nil {
			continue
		}
		for _, p := range content.Parts {
			if p != nil && p.Text != "" {
				p.Text = c.detect(p.Text)
			}
		}
	}
	return e
}
