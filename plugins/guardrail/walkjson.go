package guardrail

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
)

// jsonLeaf is a text in a JSON value.
type jsonLeaf struct {
	name string // the key of the object that it is in, or in whose list
	text string
	key  bool // it is a key itself
	// value says that it is a value, and what is JSON in it is to stay it.
	value bool
}

// longNumber is the number of digits from which on a whole number is looked at as a text.
const longNumber = 9

// eachString calls edit with each key, each string and each long whole number in a JSON value, in an order of its own
// that is always the same, and returns the value with what edit answers in their place, and whether anything has
// changed. The value is not changed itself. An edited number becomes a string. A value of a Go type that is none of
// JSON's is looked at as its JSON.
func eachString(value any, name string, edit func(jsonLeaf) (string, bool)) (any, bool) {
	return eachWithin(value, name, edit, maxDepth)
}

// maxDepth is how deep values may be inside of one another. What is deeper, or contains itself, is taken out.
const maxDepth = 1000

func eachWithin(value any, name string, edit func(jsonLeaf) (string, bool), depth int) (any, bool) {
	if depth == 0 {
		return "[TOO DEEP]", true
	}
	switch v := value.(type) {
	case nil, bool:
		return v, false
	case string:
		if text, changed := edit(jsonLeaf{name: name, text: v, value: true}); changed {
			return text, true
		}
		return v, false
	case float64:
		if v != math.Trunc(v) || math.Abs(v) < 1e8 || math.Abs(v) > 1e20 {
			return v, false
		}
		return editNumber(v, strconv.FormatFloat(v, 'f', -1, 64), name, edit)
	case json.Number:
		return editNumber(v, string(v), name, edit)
	case int:
		return editNumber(v, strconv.Itoa(v), name, edit)
	case int64:
		return editNumber(v, strconv.FormatInt(v, 10), name, edit)
	case map[string]any:
		return eachEntry(v, edit, depth)
	case []any:
		var copied []any
		for i, item := range v {
			if by, changed := eachWithin(item, name, edit, depth-1); changed {
				if copied == nil {
					copied = slices.Clone(v)
				}
				copied[i] = by
			}
		}
		if copied == nil {
			return v, false
		}
		return copied, true
	}
	var plain any
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &plain)
	}
	if err != nil { // it cannot get into the log either
		return value, false
	}
	by, changed := eachWithin(plain, name, edit, depth-1)
	if !changed {
		return value, false
	}
	return by, true
}

func editNumber(value any, digits, name string, edit func(jsonLeaf) (string, bool)) (any, bool) {
	if len(digits) < longNumber {
		return value, false
	}
	if text, changed := edit(jsonLeaf{name: name, text: digits}); changed {
		return text, true
	}
	return value, false
}

func eachEntry(v map[string]any, edit func(jsonLeaf) (string, bool), depth int) (any, bool) {
	keys := make([]string, 0, len(v))
	for key := range v {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var copied map[string]any
	var taken names
	for _, name := range keys {
		key, renamed := edit(jsonLeaf{text: name, key: true})
		by, changed := eachWithin(v[name], name, edit, depth-1)
		if !renamed && !changed {
			continue
		}
		if copied == nil {
			copied = maps.Clone(v)
		}
		if renamed {
			if delete(copied, name); taken == nil {
				taken = names{}
				for k := range copied {
					taken[k] = 1
				}
			}
			delete(taken, name)
			name = taken.free(key)
		}
		copied[name] = by
	}
	if copied == nil {
		return v, false
	}
	return copied, true
}
