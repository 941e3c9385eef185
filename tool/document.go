package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"
)

// A document is a JSON schema as JSON, so that each place in it can be compiled on its own.
type document struct {
	version string
	json    any
	nodes   map[string]any      // the schemas in it, an object or a boolean each, by JSON pointer
	leads   map[string][]string // the schemas that a schema applies to the same value
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

// list returns v if it is a list, and otherwise a list with v.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
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
