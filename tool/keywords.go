package tool

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Keywords whose value is a schema, a list of schemas, or schemas by name; and those among them
// that apply to the same value as the schema that has them.
var (
	single = []string{"items", "additionalItems", "additionalProperties", "contains", "contentSchema",
		"else", "if", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	lists = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	named = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties",
		"properties"}
	same = map[string]bool{"allOf": true, "anyOf": true, "dependencies": true,
		"dependentSchemas": true, "else": true, "if": true, "not": true, "oneOf": true, "then": true}
)

var types = map[string]bool{"null": true, "boolean": true, "integer": true, "number": true,
	"string": true, "array": true, "object": true}

// visit notes the schema at a pointer and those below it.
func (d *document) visit(at string, schema any) error {
	node, ok := schema.(map[string]any)
	if _, boolean := schema.(bool); !ok && !boolean {
		return fmt.Errorf("not a JSON schema: %s is neither an object nor a boolean", place(at))
	}
	d.nodes[at] = schema
	if ref, ok := node["$ref"].(string); ok {
		to, local := strings.CutPrefix(ref, "#")
		to, err := url.PathUnescape(to)
		if !local || err != nil || to != "" && to[0] != '/' {
			return fmt.Errorf("%s refers to %q; only references within the schema, such as #/$defs/name, are followed", place(at), ref)
		}
		d.leads[at] = append(d.leads[at], to)
		node["$ref"] = fragment(home + to)
	}
	if t, ok := node["type"]; ok {
		for _, t := range list(t) {
			if name, _ := t.(string); !types[name] {
				return fmt.Errorf("%s is of type %v; JSON has null, boolean, integer, number, string, array and object", place(at), t)
			}
		}
	}
	for _, k := range []string{"$id", "$dynamicRef"} {
		if _, ok := node[k]; ok {
			return fmt.Errorf("%s has a %s, which is not supported below the top", place(at), k)
		}
	}
	if p, ok := node["pattern"].(string); ok && !compiles(p) {
		delete(node, "pattern")
	}
	below := func(keyword, at2 string, sub any) error {
		if same[keyword] {
			d.leads[at] = append(d.leads[at], at2)
		}
		return d.visit(at2, sub)
	}
	for _, k := range single {
		sub, has := node[k]
		if _, list := sub.([]any); !has || list {
			continue
		}
		if err := below(k, at+"/"+k, sub); err != nil {
			return err
		}
	}
	for _, k := range lists {
		subs, _ := node[k].([]any)
		for i, sub := range subs {
			if err := below(k, at+"/"+k+"/"+strconv.Itoa(i), sub); err != nil {
				return err
			}
		}
	}
	for _, k := range named {
		subs, _ := node[k].(map[string]any)
		for name, sub := range subs {
			if _, list := sub.([]any); k == "dependencies" && list {
				continue
			}
			if k == "patternProperties" && !compiles(name) {
				delete(subs, name)
				continue
			}
			if err := below(k, at+"/"+k+"/"+escape(name), sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// circle returns an error if a schema leads back to itself without going into the value: checking
// against it would never end.
func (d *document) circle(at string, onPath, done map[string]bool) error {
	if onPath[at] {
		return fmt.Errorf("%s refers to itself in a circle", place(at))
	}
	if done[at] {
		return nil
	}
	if _, ok := d.nodes[at]; !ok {
		return fmt.Errorf("it refers to #%s, and there is no schema there", at)
	}
	onPath[at] = true
	for _, to := range d.leads[at] {
		if err := d.circle(to, onPath, done); err != nil {
			return err
		}
	}
	delete(onPath, at)
	done[at] = true
	return nil
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}
