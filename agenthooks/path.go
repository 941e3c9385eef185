package agenthooks

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A step goes into an object by a member's name, or into an array by an index.
type step struct {
	name  string
	index int // -1 for a name
}

// parsePath reads the path of a transform. It returns a reserved reason if it is none.
func parsePath(path string) (steps []step, reason string) {
	rest, ok := cutRoot(path, "$target")
	if !ok {
		rest, ok = cutRoot(path, "$policy_target")
	}
	if !ok {
		return nil, TransformTargetForbidden
	}
	for rest != "" {
		var s step
		if s, rest, ok = nextStep(rest); !ok {
			return nil, TransformInvalid
		}
		steps = append(steps, s)
	}
	return steps, ""
}

func cutRoot(path, root string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, root)
	return rest, ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// nextStep takes one step off a path: .name, [0] or ["name"].
func nextStep(path string) (s step, rest string, ok bool) {
	isName := func(r rune) bool {
		return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	notName := func(r rune) bool { return !isName(r) }
	valid := func(name string) bool { return name != "" && strings.IndexFunc(name, notName) < 0 }
	if after, dot := strings.CutPrefix(path, "."); dot {
		end := strings.IndexFunc(after, notName)
		if end < 0 {
			end = len(after)
		}
		return step{name: after[:end], index: -1}, after[end:], end > 0
	}
	after, open := strings.CutPrefix(path, "[")
	inner, rest, closed := strings.Cut(after, "]")
	if !open || !closed {
		return step{}, "", false
	}
	if name, quoted := strings.CutPrefix(inner, `"`); quoted {
		name, quoted = strings.CutSuffix(name, `"`)
		return step{name: name, index: -1}, rest, quoted && valid(name)
	}
	n, err := strconv.ParseUint(inner, 10, 31)
	return step{index: int(n)}, rest, err == nil && inner[0] != '+'
}

// replaceAt returns a value in which what the steps lead to is another value. ok is false if they lead nowhere.
func replaceAt(v jsontext.Value, steps []step, by jsontext.Value) (changed jsontext.Value, ok bool) {
	if len(steps) == 0 {
		return by, true
	}
	s := steps[0]
	var out any
	if s.index < 0 {
		var object map[string]jsontext.Value
		if v.Kind() != '{' || json.Unmarshal(v, &object) != nil || object[s.name] == nil {
			return nil, false
		}
		object[s.name], ok = replaceAt(object[s.name], steps[1:], by)
		out = object
	} else {
		var array []jsontext.Value
		if v.Kind() != '[' || json.Unmarshal(v, &array) != nil || s.index >= len(array) {
			return nil, false
		}
		array[s.index], ok = replaceAt(array[s.index], steps[1:], by)
		out = array
	}
	if !ok {
		return nil, false
	}
	data, err := json.Marshal(out, json.Deterministic(true))
	return data, err == nil
}
