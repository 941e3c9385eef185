package walk

import (
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// Keywords of a JSON Schema: those whose value is a schema, or a list of schemas; those with schemas
// by name; those that a program reads; and those that nobody has written.
var (
	schemas = []string{"items", "additionalItems", "additionalProperties", "contains", "contentSchema",
		"else", "if", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
		"allOf", "anyOf", "oneOf", "prefixItems"}
	named = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties",
		"properties"}
	structure = []string{"type", "required", "propertyOrdering", "format", "pattern", "$ref", "$id", "$schema",
		"$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "dependentRequired", "contentEncoding",
		"contentMediaType", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
		"maxLength", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties",
		"maxProperties", "nullable", "readOnly", "writeOnly", "deprecated"}
	values = []string{"description", "title", "$comment", "enum", "const", "default", "example", "examples"}
	usual  = []string{"null", "boolean", "integer", "number", "string", "array", "object"}
)

// standard matches the address of a version of JSON Schema.
var standard = lazyregexp.New(`^https?://json-schema\.org/(draft-0\d|draft/\d{4}-\d\d)/schema#?$`)

// declaration goes through the schemas of a tool's declaration.
type declaration struct {
	*Walker
	edit    editFunc
	spoiled bool
}

// Declaration goes through the texts of a tool's declaration, as JSON, as one item: what it says of the
// tool and of its parameters. Names and types are texts, too, and no edit of them is made: the tool could
// not be called then. Declaration reports whether there is such an edit.
func (w *Walker) Declaration(object map[string]any) (spoiled bool) {
	d := &declaration{Walker: w}
	name, _ := object["name"].(string)
	w.item(&Item{Stage: policy.Prompt, Tool: name}, func(edit editFunc) {
		d.edit = edit
		d.fixed(name)
		d.value(object, "description", "")
		for _, key := range []string{"parameters", "parametersJsonSchema", "response", "responseJsonSchema"} {
			d.schema(object[key], "")
		}
	})
	return d.spoiled
}

// schema goes through a schema, or a list of schemas. name is that of the value that it describes.
func (d *declaration) schema(schema any, name string) {
	list, ok := schema.([]any)
	for _, item := range list {
		d.schema(item, name)
	}
	object, _ := schema.(map[string]any)
	if ok || object == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		below, isObject := object[key].(map[string]any)
		switch {
		case slices.Contains(schemas, key):
			d.schema(object[key], name)
		case slices.Contains(named, key) && isObject:
			for _, property := range slices.Sorted(maps.Keys(below)) {
				d.fixed(property)
				d.schema(below[property], property)
			}
		case slices.Contains(structure, key):
			d.words(object[key])
		case slices.Contains(values, key):
			d.value(object, key, name)
		default: // what a program does not know, a model may read
			d.fixed(key)
			d.value(object, key, name)
		}
	}
}

// value goes through the texts of a value. Those of a description stand under no name.
func (d *declaration) value(object map[string]any, key, name string) {
	if object[key] == nil {
		return
	}
	if key == "description" || key == "title" || key == "$comment" {
		name = ""
	}
	edited, changed := jsonvalue.Each(object[key], name, d.edit)
	if changed {
		d.Dirty = true
	}
	if changed && d.Write {
		object[key] = edited
	}
}

// words visits the texts in a value that a program reads, such as a list of types. The numbers in it are
// limits, and are not visited.
func (d *declaration) words(value any) {
	_, changed := jsonvalue.Each(value, "", func(l jsonvalue.Leaf) (string, bool) {
		isType := slices.Contains(usual, strings.ToLower(l.Text))
		isSchema := standard.MatchString(l.Text)
		isNumber := !l.Key && !l.Value
		if isType || isSchema || isNumber {
			return l.Text, false
		}
		return d.edit(l)
	})
	d.spoiled = d.spoiled || changed
}

// fixed visits a name, which no edit may change.
func (d *declaration) fixed(name string) {
	if name == "" {
		return
	}
	_, changed := d.edit(jsonvalue.Leaf{Text: name, Key: true})
	d.spoiled = d.spoiled || changed
}
