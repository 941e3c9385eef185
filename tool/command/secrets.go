package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// shortest is the length in bytes of the shortest value that is hidden: a shorter one is no key, and would
// take out half of a text.
const shortest = 6

// secrets takes the values of variables out of what a command wrote.
type secrets struct {
	values  []string
	replace *strings.Replacer
}

// hiding returns secrets of the variables, NAME=VALUE each.
func hiding(variables []string) *secrets {
	names := map[string]string{}
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		if slices.Contains(always, name) {
			continue
		}
		for _, part := range append(strings.Split(value, "\n"), value) {
			part = strings.TrimSpace(part)
			inJSON, _ := json.Marshal(part) // a string always can be
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
	// Of two that begin alike the longer one goes first, or its rest would stay.
	slices.SortFunc(s.values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, value := range s.values {
		pairs = append(pairs, value, "["+names[value]+"]")
	}
	s.replace = strings.NewReplacer(pairs...)
	return s
}

// rest returns the text without a rest of a value at its begin, for one that was cut.
func (s *secrets) rest(text []byte) []byte {
	longest := 0
	for _, value := range s.values {
		for i := range len(value) {
			if n := len(value) - i; n > longest && bytes.HasPrefix(text, []byte(value[i:])) {
				longest = n
			}
		}
	}
	return text[longest:]
}

// hide hides the values in a JSON value, keys and numbers included. A number with one in it becomes text.
func (s *secrets) hide(v any) any {
	switch v := v.(type) {
	case string:
		return s.replace.Replace(v)
	case json.Number:
		if said := s.replace.Replace(v.String()); said != v.String() {
			return said
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
