package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/child"
)

// shortest is the length in bytes of the shortest value that is hidden. A shorter one is not a key,
// and may be a common word.
const shortest = 6

// secrets removes the values of variables from what a command wrote.
type secrets struct {
	values  []string
	replace *strings.Replacer
}

// newSecrets returns the secrets of variables, each given as NAME=VALUE.
func newSecrets(variables []string) *secrets {
	names := map[string]string{}
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		if slices.Contains(child.Always, name) {
			continue
		}
		for _, part := range append(strings.Split(value, "\n"), value) {
			part = strings.TrimSpace(part)
			inJSON, _ := json.Marshal(part) // a string always has JSON
			for _, form := range []string{part, string(inJSON[1 : len(inJSON)-1]), url.QueryEscape(part)} {
				if len(part) >= shortest && names[form] == "" {
					names[form] = name
				}
			}
		}
	}
	s := &secrets{}
	var pairs []string
	for value := range names {
		s.values = append(s.values, value)
	}
	// If one value is the beginning of another, the longer one must come first, or its end would stay.
	slices.SortFunc(s.values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, value := range s.values {
		pairs = append(pairs, value, "["+names[value]+"]")
	}
	s.replace = strings.NewReplacer(pairs...)
	return s
}

// trimStart returns a text that was cut at its start, without the end of a secret there.
func (s *secrets) trimStart(text []byte) []byte {
	longest := 0
	for _, value := range s.values {
		for i := range len(value) {
			end := value[i:]
			if len(end) > longest && bytes.HasPrefix(text, []byte(end)) {
				longest = len(end)
			}
		}
	}
	return text[longest:]
}

// hide hides secrets in a JSON value, also in keys and numbers. A number with a secret in it
// becomes text.
func (s *secrets) hide(v any) any {
	switch v := v.(type) {
	case string:
		return s.replace.Replace(v)
	case json.Number:
		clean := s.replace.Replace(v.String())
		if clean != v.String() {
			return clean
		}
	case []any:
		for i := range v {
			v[i] = s.hide(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key := range v {
			clean[s.replace.Replace(key)] = s.hide(v[key])
		}
		return clean
	}
	return v
}
