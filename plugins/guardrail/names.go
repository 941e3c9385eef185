package guardrail

import (
	"fmt"
	"strings"
)

// names are the keys of an object, each with the number of the last one that would have been the same.
type names map[string]int

// free returns a key that is none of them, and adds it: the one that is asked for, or that with a number behind it.
func (n names) free(key string) string {
	free := key
	for _, taken := n[free]; taken; _, taken = n[free] {
		n[key]++
		free = fmt.Sprintf("%s %d", key, n[key])
	}
	n[free] = 1
	return free
}

// rename returns what a key is to be as JSON, that was one of them and has become another.
func (n names) rename(was, is string) string {
	before, after := unquoted(was), unquoted(is)
	if before == after {
		return is
	}
	if free := n.free(after); free != after {
		return string(asJSON(free))
	}
	return is
}

// objectsIn returns the keys of the objects of a JSON text: of each key, by where it begins, those of its object.
func objectsIn(text string) map[int]names {
	all := map[int]names{}
	var open []names // of what is open around, nil of a list
	at := 0
	for start, end := range scalars(text) {
		for _, c := range []byte(text[at:start]) {
			switch c {
			case '{':
				open = append(open, names{})
			case '[':
				open = append(open, nil)
			case '}', ']':
				open = open[:len(open)-1]
			}
		}
		if at = end; isKey(text[end:]) {
			in := open[len(open)-1]
			in[unquoted(text[start:end])] = 1
			all[start] = in
		}
	}
	return all
}

// isKey reports whether what a text goes on with says that a key was before it.
func isKey(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
}

func unquoted(text string) string { return string(fromJSON(text[1 : len(text)-1])) }
