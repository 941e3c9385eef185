// Package redact takes secrets out of texts, also in the forms that programs write them in: with
// the escapes of JSON, of Go's %q and of other languages' strings, in URLs, in base64 and in hex. A
// text may mix those, and may be escaped more than once.
//
// It finds what a program writes without meaning to. A program that wants to show a secret can
// always encode it in a way that nothing finds.
//
// A new encoding of a whole secret, such as base32, is a function beside inHex in forms.go and a
// form in [New]. A new escape of a single character is a case of numbered or escape. The test's table of
// encodings gets a row for either.
package redact

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// A Secret is a value that must not be shown.
type Secret struct {
	// Value is the secret. An empty one is none.
	Value string
	// Name is what is shown in its place.
	Name string
}

// Secrets are values that must not be shown. The zero Secrets are none.
type Secrets struct {
	forms []form
	// begin has the forms that can begin with a byte.
	begin   [256][]*form
	longest int
	row     int // the longest row of backslashes with which a secret can begin
}

// form is one way in which a secret is written.
type form struct {
	pattern []symbol
	name    string
	// base64 says that the characters beside the pattern have bits of the secret, too.
	base64 bool
}

// New returns secrets. If one is a part of another, the longer one is looked for first.
func New(all []Secret) *Secrets {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Secret) int {
		return cmp.Or(cmp.Compare(len(b.Value), len(a.Value)), cmp.Compare(a.Value, b.Value))
	})
	all = slices.CompactFunc(all, func(a, b Secret) bool { return a.Value == b.Value })
	s := new(Secrets)
	for _, secret := range all {
		if secret.Value != "" {
			s.forms = append(s.forms, form{pattern: text(secret.Value), name: secret.Name})
			s.longest = max(s.longest, len(secret.Value)*mostPerByte)
		}
	}
	for _, secret := range all {
		if secret.Value == "" {
			continue
		}
		s.forms = append(s.forms, form{pattern: inHex(secret.Value), name: secret.Name})
		for offset := range 3 {
			pattern := inBase64(secret.Value, offset)
			if len(pattern) >= shortestBase64 {
				s.forms = append(s.forms, form{pattern: pattern, name: secret.Name, base64: true})
			}
		}
	}
	for i := range s.forms {
		f := &s.forms[i]
		s.row = max(s.row, f.pattern[0].row*maxEscapes+maxEscapes)
		for _, b := range []byte(f.pattern[0].begins()) {
			if !slices.Contains(s.begin[b], f) {
				s.begin[b] = append(s.begin[b], f)
			}
		}
	}
	return s
}

// Longest returns an upper bound of how many bytes of a text one secret takes, escaped once. Who
// cuts a text that goes on has to keep so much of its end.
func (s *Secrets) Longest() int {
	if s == nil {
		return 0
	}
	return s.longest
}

// TrimStart returns a text that was cut at its start, without the end of a secret there.
func (s *Secrets) TrimStart(text string) string {
	if s == nil {
		return text
	}
	longest := 0
	for _, f := range s.forms {
		for i := 1; i < len(f.pattern); i++ {
			if end, ok := match(f.pattern[i:], text, 0); ok {
				longest = max(longest, end)
			}
		}
	}
	return text[longest:]
}

// Value returns a JSON value without secrets in its texts and keys. A json.Number with a secret in it becomes a
// text. Lists are changed in place.
func (s *Secrets) Value(v any) any {
	switch v := v.(type) {
	case string:
		return s.Replace(v)
	case json.Number:
		if clean := s.Replace(v.String()); clean != v.String() {
			return clean
		}
	case []any:
		for i := range v {
			v[i] = s.Value(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[s.Replace(key)] = s.Value(value)
		}
		return clean
	}
	return v
}

// Replace returns a text with the names of the secrets in their place.
func (s *Secrets) Replace(text string) string {
	if s == nil || len(s.forms) == 0 {
		return text
	}
	var out strings.Builder
	done := 0 // what of the text is in out
	for i := 0; i < len(text); {
		if text[i] == '\\' { // of a long row, the end only can belong to a secret
			row := len(text) - i - len(strings.TrimLeft(text[i:], `\`))
			i += max(0, row-s.row)
		}
		from, to, name := s.find(text, done, i)
		if to == 0 {
			i++
			continue
		}
		out.WriteString(text[done:from])
		out.WriteString(name)
		done = to
		i = to
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// find returns the place of a secret that begins at i, or at most a character of base64 before,
// and what is shown for it. There is none if to is 0.
func (s *Secrets) find(text string, done, i int) (from, to int, name string) {
	for _, f := range s.begin[text[i]] {
		end, ok := match(f.pattern, text, i)
		if !ok {
			continue
		}
		if !f.base64 {
			return i, end, f.name
		}
		// The characters before and after may have bits of the secret and of something else.
		if i > done && isBase64(text[i-1]) {
			i--
		}
		if end < len(text) && isBase64(text[end]) {
			end++
		}
		for end < len(text) && text[end] == '=' {
			end++
		}
		return i, end, f.name
	}
	return 0, 0, ""
}
