package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
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
func (d *document) explain(ctx context.Context, v *value, verdict error) string {
	x := &explanation{meter: meter{document: d, ctx: ctx}}
	x.look(d.nodes[0], "", v)
	if len(x.problems) == 0 {
		x.say("", cause(verdict))
	}
	return strings.Join(x.problems, "; ")
}

type explanation struct {
	meter    // what may be spent on the explanation
	problems []string
}

func (x *explanation) say(path, problem string) {
	if path == "" {
		path = "the whole"
	}
	problem = short(path) + ": " + short(problem)
	switch {
	case len(x.problems) < maxProblems && !slices.Contains(x.problems, problem):
		x.problems = append(x.problems, problem)
	case len(x.problems) == maxProblems:
		x.problems = append(x.problems, "and more")
	}
}

// fits reports whether a value fits a node. It is not known if that would take too many steps.
func (x *explanation) fits(n *node, v *value) (verdict error, known bool) {
	if x.measure(n, v) != nil {
		return nil, false
	}
	return x.validate(n, v.plain), true
}

// look says what is wrong with the value at a path, which is to fit a node.
func (x *explanation) look(n *node, path string, v *value) {
	if len(x.problems) > maxProblems {
		return
	}
	verdict, known := x.fits(n, v)
	if verdict == nil || !known {
		return
	}
	if t, ok := n.keywords["type"]; ok && !admits(t, v.plain) {
		x.say(path, fmt.Sprintf("is of type %s, must be %s", kind(v.plain), words(list(t))))
		return
	}
	if enum, ok := n.keywords["enum"].([]any); ok && !oneOf(enum, v) {
		x.say(path, "must be one of "+words(enum))
		return
	}
	before := len(x.problems)
	x.object(n, path, v)
	for i, item := range v.list {
		if to := x.item(n, i); to != nil {
			x.look(to, path+"/"+strconv.Itoa(i), item)
		}
	}
	if n.ref != nil {
		x.look(n.ref, path, v)
	}
	for _, to := range n.same {
		if to.place.keyword == "allOf" {
			x.look(to, path, v)
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if one := n.only(k, v); one != nil && len(x.problems) == before {
			x.look(one, path, v)
		}
	}
	if len(x.problems) == before {
		x.say(path, cause(verdict))
	}
}

// oneOf reports whether a value is in a list.
func oneOf(enum []any, v *value) bool {
	plain := text(v.plain)
	return slices.ContainsFunc(enum, func(e any) bool { return text(e) == plain })
}

func (x *explanation) object(n *node, path string, v *value) {
	if v.object == nil {
		return
	}
	properties, _ := n.keywords["properties"].(map[string]any)
	for _, name := range list(n.keywords["required"]) {
		if name, ok := name.(string); ok && v.object[name] == nil {
			x.say(path+"/"+escape(name), "is missing")
		}
	}
	_, patterns := n.keywords["patternProperties"]
	other, restricted := n.keywords["additionalProperties"]
	for _, name := range slices.Sorted(maps.Keys(v.object)) {
		in := v.object[name]
		path := path + "/" + escape(name)
		switch known := n.below[under("properties", name)]; {
		case known != nil:
			x.look(known, path, in)
		case patterns || !restricted:
		case other == false && len(properties) == 0:
			x.say(path, "is not known; nothing is to be here")
		case other == false:
			x.say(path, "is not known; known are "+strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
		default:
			x.look(n.below[step("additionalProperties")], path, in)
		}
	}
}

// only returns the one alternative that is of the value's type, nil if there is not exactly one.
func (n *node) only(keyword string, v *value) *node {
	var found *node
	for _, alternative := range n.same {
		if alternative.place.keyword != keyword {
			continue
		}
		to := alternative
		if to.ref != nil && to.keywords["type"] == nil {
			to = to.ref
		}
		if t, ok := to.keywords["type"]; ok && admits(t, v.plain) {
			if found != nil {
				return nil
			}
			found = alternative
		}
	}
	return found
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
	case int, int64:
		return "integer"
	case float64:
		if v == math.Trunc(v) {
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
	return fractions.ReplaceAllString(said, "$1$2")
}

// fractions are what the library writes behind whole numbers.
var fractions = regexp.MustCompile(`([0-9])(?:/1( is )|\.0+$)`)
