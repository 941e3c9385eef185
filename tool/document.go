package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"
)

// A document is a JSON schema as JSON, so that each place in it can be compiled on its own.
type document struct {
	version string
	json    any
	nodes   map[string]any      // the schemas in it, an object or a boolean each, by JSON pointer
	leads   map[string][]string // the schemas that a schema puts to the same value
}

// home is where resolve puts the document.
const home = "/$defs/root"

// parse reads a schema and all schemas in it.
func parse(schema any) (*document, error) {
	if s, ok := schema.(*genai.Schema); ok {
		schema = fromGenai(s)
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("not a JSON schema: %w", err)
	}
	d := &document{nodes: map[string]any{}, leads: map[string][]string{}}
	if err := json.Unmarshal(data, &d.json); err != nil {
		return nil, err
	}
	if root, ok := d.json.(map[string]any); ok {
		d.version, _ = root["$schema"].(string)
		delete(root, "$schema")
		delete(root, "$id")
		if !drafts[d.version] {
			d.version = ""
		}
	}
	if err := d.visit("", d.json); err != nil {
		return nil, err
	}
	done := map[string]bool{}
	for at := range d.nodes {
		if err := d.circle(at, map[string]bool{}, done); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// drafts are those that are known to the library.
var drafts = map[string]bool{
	"http://json-schema.org/draft-07/schema#":      true,
	"https://json-schema.org/draft-07/schema#":     true,
	"https://json-schema.org/draft/2020-12/schema": true,
}

// Keywords whose value is a schema, a list of schemas, or schemas by name; and those among them that are
// put to the same value as the schema which has them.
var (
	single = []string{"items", "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	lists  = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	named  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
	same   = map[string]bool{"allOf": true, "anyOf": true, "dependencies": true, "dependentSchemas": true, "else": true, "if": true, "not": true, "oneOf": true, "then": true}
)

var types = map[string]bool{"null": true, "boolean": true, "integer": true, "number": true, "string": true, "array": true, "object": true}

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

// root returns the whole schema, nil if it is a boolean.
func (d *document) root() map[string]any {
	root, _ := d.json.(map[string]any)
	return root
}

// resolve compiles the schema at a pointer.
func (d *document) resolve(at string) (*jsonschema.Resolved, error) {
	whole := map[string]any{"$defs": map[string]any{"root": d.json}, "$ref": fragment(home + at)}
	if d.version != "" {
		whole["$schema"] = d.version
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&s); err != nil {
		return nil, fmt.Errorf("not a JSON schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("not a JSON schema: %w", err)
	}
	return resolved, nil
}

// list returns a list, or one of what is none.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

func fragment(pointer string) string { return (&url.URL{Fragment: pointer}).String() }

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// place names a JSON pointer.
func place(pointer string) string {
	if pointer == "" {
		return "the whole"
	}
	return pointer
}
