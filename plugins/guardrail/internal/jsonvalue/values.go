// Package jsonvalue visits and edits the texts in JSON: in values, as a program has them, and in a
// text that is JSON. What was valid JSON stays valid JSON.
//
// Another kind of value that holds text: visit it in Each for values, and in text.go for JSON that is a text.
package jsonvalue

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Leaf is one text in a JSON value.
type Leaf struct {
	Name string // the key under which the text stands, directly or in a list; that of the object around
	// if this one says nothing, as value does; "" if there is none
	Text string
	// Key says that the text is itself a key.
	Key bool
	// Value says that the text is a string value; if it is JSON itself, it has to stay JSON.
	Value bool
}

// longNumber is the number of digits from which on a whole number is visited as a text.
const longNumber = 9

// maxDepth is how deep values may be nested. What is deeper, or contains itself, is taken out.
const maxDepth = 1000

// Each calls edit with each key, each string and each long whole number in a JSON value, always in
// the same order. It returns the value with edit's texts in their place, and whether anything
// changed. The value itself is not changed. An edited number becomes a string. A value of another
// Go type is visited as its JSON. name is the key under which the value stands.
func Each(value any, name string, edit func(Leaf) (string, bool)) (any, bool) {
	return each(value, name, edit, maxDepth)
}

func each(value any, name string, edit func(Leaf) (string, bool), depth int) (any, bool) {
	if depth == 0 {
		return "[TOO DEEP]", true
	}
	switch v := value.(type) {
	case nil, bool:
		return v, false
	case string:
		text, changed := edit(Leaf{Name: name, Text: v, Value: true})
		if changed {
			return text, true
		}
		return v, false
	case float64:
		// JSON has one kind of number; those with a fraction, and very large ones, identify nothing.
		if v != math.Trunc(v) || math.Abs(v) < 1e8 || math.Abs(v) > 1e20 {
			return v, false
		}
		return eachNumber(v, strconv.FormatFloat(v, 'f', -1, 64), name, edit)
	case json.Number:
		return eachNumber(v, string(v), name, edit)
	case int:
		return eachNumber(v, strconv.Itoa(v), name, edit)
	case int64:
		return eachNumber(v, strconv.FormatInt(v, 10), name, edit)
	case map[string]any:
		return eachEntry(v, name, edit, depth)
	case []any:
		return eachItem(v, name, edit, depth)
	}
	// Another Go type is visited as the JSON that it becomes in the log. What cannot become JSON
	// cannot get there.
	var plain any
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &plain)
	}
	if err != nil {
		return value, false
	}
	edited, changed := each(plain, name, edit, depth-1)
	if !changed {
		return value, false
	}
	return edited, true
}

func eachNumber(value any, digits, name string, edit func(Leaf) (string, bool)) (any, bool) {
	if len(digits) < longNumber {
		return value, false
	}
	text, changed := edit(Leaf{Name: name, Text: digits})
	if changed {
		return text, true
	}
	return value, false
}

func eachItem(list []any, name string, edit func(Leaf) (string, bool), depth int) (any, bool) {
	var copied []any // made with the first change
	for i, item := range list {
		edited, changed := each(item, name, edit, depth-1)
		if !changed {
			continue
		}
		if copied == nil {
			copied = slices.Clone(list)
		}
		copied[i] = edited
	}
	if copied == nil {
		return list, false
	}
	return copied, true
}

// sayNothing are keys that do not say what stands under them: the key of the object around does.
var sayNothing = map[string]bool{
	"value": true, "values": true, "val": true, "data": true, "text": true, "string": true,
	"raw": true, "plain": true, "plaintext": true, "default": true, "current": true, "new": true,
	"old": true, "number": true, "no": true, "items": true, "list": true,
}

// named returns the name of what stands under a key of an object, which has a name itself.
func named(outer, key string) string {
	low := strings.ToLower(key)
	switch {
	case outer == "" || !sayNothing[low]:
		return key
	case low == "number" || low == "no": // as in account number
		return outer + " " + key
	}
	return outer
}

func eachEntry(object map[string]any, outer string, edit func(Leaf) (string, bool), depth int) (any, bool) {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var copied map[string]any // made with the first change
	var taken keySet          // the copy's keys, made with the first key that is renamed
	for _, name := range keys {
		key, renamed := edit(Leaf{Text: name, Key: true})
		edited, changed := each(object[name], named(outer, name), edit, depth-1)
		if !renamed && !changed {
			continue
		}
		if copied == nil {
			copied = maps.Clone(object)
		}
		if renamed {
			delete(copied, name)
			if taken == nil {
				taken = keySet{}
				for k := range copied {
					taken[k] = 1
				}
			}
			delete(taken, name)
			name = taken.add(key)
		}
		copied[name] = edited
	}
	if copied == nil {
		return object, false
	}
	return copied, true
}
