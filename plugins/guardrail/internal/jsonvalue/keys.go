package jsonvalue

import (
	"fmt"
	"strings"
)

// keySet has the keys of one object. Its values are the numbers that add has given last.
type keySet map[string]int

// add adds a key and returns it. If the set has the key already, the key gets a number: "name 2".
func (s keySet) add(key string) string {
	free := key
	for _, taken := s[free]; taken; _, taken = s[free] {
		s[key]++
		free = fmt.Sprintf("%s %d", key, s[key])
	}
	s[free] = 1
	return free
}

// rename returns the JSON of a key that an edit has changed, with a number if the object has that
// key already.
func (s keySet) rename(before, after string) string {
	old := unquoted(before)
	key := unquoted(after)
	if old == key {
		return after
	}
	free := s.add(key)
	if free != key {
		return string(quote(free))
	}
	return after
}

// keySets returns, for each key of a JSON text by the byte at which it begins, the keys of its
// object.
func keySets(text string) map[int]keySet {
	all := map[int]keySet{}
	var open []keySet // the objects and lists around the current place; nil for a list
	at := 0
	for start, end := range scalars(text) {
		for _, c := range []byte(text[at:start]) {
			switch c {
			case '{':
				open = append(open, keySet{})
			case '[':
				open = append(open, nil)
			case '}', ']':
				open = open[:len(open)-1]
			}
		}
		at = end
		if isKey(text[end:]) {
			object := open[len(open)-1]
			object[unquoted(text[start:end])] = 1
			all[start] = object
		}
	}
	return all
}

// isKey reports whether a colon follows, so that the string before it was a key.
func isKey(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
}

func unquoted(text string) string { return string(unquote(text[1 : len(text)-1])) }
