package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The most that explain says.
const (
	maxProblems = 8
	maxProblem  = 300 // bytes
)

// explain says what is wrong with a value that does not fit the document: where, as a JSON pointer
// into the value, and what would fit. The library, whose verdict it is, knows only the place in the
// schema.
func (d *document) explain(value any, verdict error) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "no JSON: " + err.Error()
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return "no JSON: " + err.Error()
	}
	x := &explanation{document: d}
	x.look("", "", plain)
	if len(x.problems) == 0 {
		x.say("", cause(verdict))
	}
	return strings.Join(x.problems, "; ")
}

type explanation struct {
	*document
	problems []string
}

func (x *explanation) say(path, problem string) {
	if path == "" {
		path = "the whole"
	}
	if len(problem) > maxProblem {
		problem = strings.ToValidUTF8(problem[:maxProblem], "") + "…"
	}
	problem = path + ": " + problem
	switch {
	case len(x.problems) < maxProblems && !slices.Contains(x.problems, problem):
		x.problems = append(x.problems, problem)
	case len(x.problems) == maxProblems:
		x.problems = append(x.problems, "and more")
	}
}

// look says what is wrong with the value at a path, which is to fit the schema at a pointer.
func (x *explanation) look(at, path string, value any) {
	if len(x.problems) > maxProblems {
		return
	}
	resolved, err := x.resolve(at)
	if err != nil {
		return
	}
	verdict := resolved.Validate(value)
	if verdict == nil {
		return
	}
	node, _ := x.nodes[at].(map[string]any)
	if t, ok := node["type"]; ok && !admits(t, value) {
		x.say(path, fmt.Sprintf("is of type %s, must be %s", kind(value), words(list(t))))
		return
	}
	if enum, ok := node["enum"].([]any); ok &&
		!slices.ContainsFunc(enum, func(e any) bool { return text(e) == text(value) }) {
		x.say(path, "must be one of "+words(enum))
		return
	}
	before := len(x.problems)
	switch v := value.(type) {
	case map[string]any:
		x.object(at, path, node, v)
	case []any:
		x.array(at, path, node, v)
	}
	for _, to := range x.leads[at] {
		// all hold, as what $ref leads to
		if strings.HasPrefix(to, at+"/allOf/") || !strings.HasPrefix(to, at+"/") {
			x.look(to, path, value)
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if one, ok := x.only(at+"/"+k, list(node[k]), value); ok && len(x.problems) == before {
			x.look(one, path, value)
		}
	}
	if len(x.problems) == before {
		x.say(path, cause(verdict))
	}
}

func (x *explanation) object(at, path string, node, value map[string]any) {
	properties, _ := node["properties"].(map[string]any)
	for _, name := range list(node["required"]) {
		if name, ok := name.(string); ok {
			if _, has := value[name]; !has {
				x.say(path+"/"+escape(name), "is missing")
			}
		}
	}
	_, patterns := node["patternProperties"]
	for _, name := range slices.Sorted(maps.Keys(value)) {
		switch other, restricted := node["additionalProperties"]; {
		case properties[name] != nil:
			x.look(at+"/properties/"+escape(name), path+"/"+escape(name), value[name])
		case patterns || !restricted:
		case other == false && len(properties) == 0:
			x.say(path+"/"+escape(name), "is not known; nothing is to be here")
		case other == false:
			x.say(path+"/"+escape(name), "is not known; known are "+strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
		default:
			x.look(at+"/additionalProperties", path+"/"+escape(name), value[name])
		}
	}
}

func (x *explanation) array(at, path string, node map[string]any, value []any) {
	first := "prefixItems"
	if _, tuple := node["items"].([]any); tuple {
		first = "items"
	}
	for i, item := range value {
		to := at + "/" + first + "/" + strconv.Itoa(i)
		if x.nodes[to] == nil {
			to = at + "/items"
		}
		if x.nodes[to] != nil {
			x.look(to, path+"/"+strconv.Itoa(i), item)
		}
	}
}

// only returns the one alternative that is of the value's type, if there is one.
func (x *explanation) only(at string, alternatives []any, value any) (string, bool) {
	var found []string
	for i, alternative := range alternatives {
		node, _ := alternative.(map[string]any)
		to := at + "/" + strconv.Itoa(i)
		if refs := x.leads[to]; node["type"] == nil && node["$ref"] != nil {
			node, _ = x.nodes[refs[0]].(map[string]any)
		}
		if t, ok := node["type"]; ok && admits(t, value) {
			found = append(found, to)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// admits reports whether a schema's type is one of the value's.
func admits(t, value any) bool {
	k := kind(value)
	return slices.ContainsFunc(list(t),
		func(t any) bool { return t == k || t == "number" && k == "integer" })
}

func kind(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func words(values []any) string {
	var w []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			w = append(w, s)
		} else {
			w = append(w, text(v))
		}
	}
	return strings.Join(w, ", ")
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// cause returns what the library says last: before it stand places in the schema.
func cause(err error) string {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	said, _, _ := strings.Cut(err.Error(), "\n")
	if strings.HasPrefix(said, "anyOf: ") || strings.HasPrefix(said, "oneOf: ") {
		return "fits none of the alternatives, or more than one of oneOf"
	}
	return said
}
