package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/genaischema"
)

// The bounds of a schema. Whoever writes a tool or a plugin may send one, so it may be hostile.
const (
	maxSchemaBytes = 1 << 20 // as JSON
	maxSchemas     = 5_000   // schemas in a schema
	maxNesting     = 100     // schemas around a schema
	maxPatterns    = 100_000 // instructions of all regular expressions, compiled
)

// A document is a JSON schema, read and compiled.
type document struct {
	root     any                       // a bool, or the keywords; only those that are checked
	compiled *jsonschema.Resolved      // the library's form of it
	schemas  int                       // how many there are in it
	patterns map[string]*regexp.Regexp // by their texts
	sizes    map[string]int            // of patterns, in instructions
}

// Keywords by what they hold: a schema, a list of schemas, schemas by name, or a value that is compared.
var (
	oneSchema = []string{"items", "additionalItems", "additionalProperties", "contains", "else", "if", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	schemaLists   = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	schemasByName = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
	comparedValue = []string{"$ref", "type", "enum", "const", "multipleOf", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains",
		"minProperties", "maxProperties", "required", "dependentRequired"}
)

var types = []any{"null", "boolean", "integer", "number", "string", "array", "object"}

// drafts are those that the library knows.
var drafts = []any{
	"http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2020-12/schema",
}

// parse reads a schema and compiles it.
func parse(schema any) (*document, error) {
	if s, ok := schema.(*genai.Schema); ok {
		schema = genaischema.ToJSON(s)
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("not a JSON schema: %w", err)
	}
	if len(data) > maxSchemaBytes {
		return nil, fmt.Errorf("the schema has %d bytes; at most %d are allowed", len(data), maxSchemaBytes)
	}
	var whole any
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	d := &document{patterns: map[string]*regexp.Regexp{}, sizes: map[string]int{}}
	d.root, err = d.read(whole, "", 0)
	if err != nil {
		return nil, err
	}
	if given, ok := whole.(map[string]any); ok && slices.Contains(drafts, given["$schema"]) {
		d.root.(map[string]any)["$schema"] = given["$schema"]
	}

	// The library reads what is left.
	if data, err = json.Marshal(d.root); err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("not a JSON schema: %w", err)
	}
	if d.compiled, err = s.Resolve(nil); err != nil {
		return nil, fmt.Errorf("not a JSON schema: %w", err)
	}

	// A schema that leads back to itself, or in too many ways to the same, is found with any value.
	for _, v := range []any{nil, true, 1.0, "", []any{}, map[string]any{}} {
		if err := (&meter{document: d}).evaluate(d.root, v, 0); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// read returns a schema with the keywords that are checked, and no others: the library takes $REF for $ref. It returns an
// error if the schema, which stands at a JSON pointer and in depth other schemas, is beyond the bounds or no schema.
func (d *document) read(schema any, pointer string, depth int) (any, error) {
	place := pointer
	if pointer == "" {
		place = "the whole"
	}
	place = short(place)
	d.schemas++
	switch {
	case d.schemas > maxSchemas:
		return nil, fmt.Errorf("the schema has more than %d schemas in it; at most that many are allowed", maxSchemas)
	case depth > maxNesting:
		return nil, fmt.Errorf("%s is in more than %d other schemas, which is the most that is allowed", place, maxNesting)
	}
	if verdict, ok := schema.(bool); ok {
		return verdict, nil
	}
	given, ok := schema.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not a JSON schema: %s is neither an object nor a boolean", place)
	}

	// What has no schemas in it.
	kept := map[string]any{}
	for _, k := range comparedValue {
		if v, has := given[k]; has {
			kept[k] = v
		}
	}
	if err := checkValues(given, place); err != nil {
		return nil, err
	}
	if text, ok := given["pattern"].(string); ok {
		known, err := d.pattern(text, place)
		if err != nil {
			return nil, err
		}
		if known {
			kept["pattern"] = text
		}
	}

	// The schemas in it.
	below := func(sub any, names ...string) (any, error) {
		at := pointer
		for _, name := range names {
			at += "/" + escape(name)
		}
		if len(at) > 1000 { // it is for errors, and names can be long
			at = "…" + at[len(at)-1000:]
		}
		return d.read(sub, at, depth+1)
	}
	for _, k := range oneSchema {
		sub, has := given[k]
		if _, list := sub.([]any); !has || list && k == "items" {
			continue
		}
		var err error
		if kept[k], err = below(sub, k); err != nil {
			return nil, err
		}
	}
	for _, k := range schemaLists {
		subs, ok := given[k].([]any)
		if !ok {
			if given[k] != nil && k != "items" {
				return nil, fmt.Errorf("not a JSON schema: %s of %s is not a list", k, place)
			}
			continue
		}
		list := make([]any, len(subs))
		for i, sub := range subs {
			var err error
			if list[i], err = below(sub, k, strconv.Itoa(i)); err != nil {
				return nil, err
			}
		}
		kept[k] = list
	}
	for _, k := range schemasByName {
		subs, ok := given[k].(map[string]any)
		if !ok {
			if given[k] != nil {
				return nil, fmt.Errorf("not a JSON schema: %s of %s is not an object", k, place)
			}
			continue
		}
		object := map[string]any{}
		for name, sub := range subs {
			if _, names := sub.([]any); names && k == "dependencies" {
				object[name] = sub
				continue
			}
			if k == "patternProperties" {
				if known, err := d.pattern(name, place); err != nil {
					return nil, err
				} else if !known {
					continue
				}
			}
			var err error
			if object[name], err = below(sub, k, name); err != nil {
				return nil, err
			}
		}
		kept[k] = object
	}
	return kept, nil
}

// checkValues checks what the library does not.
func checkValues(given map[string]any, place string) error {
	if t, has := given["type"]; has {
		for _, name := range list(t) {
			if !slices.Contains(types, name) {
				return fmt.Errorf("%s is of type %s; JSON has null, boolean, integer, number, string, array and object",
					place, short(fmt.Sprint(name)))
			}
		}
	}
	if ref, has := given["$ref"]; has {
		if text, ok := ref.(string); !ok || !strings.HasPrefix(text, "#") || len(text) > 1 && text[1] != '/' {
			return fmt.Errorf("%s refers to %s; only references within the schema, such as #/$defs/name, are followed",
				place, short(fmt.Sprint(ref)))
		}
	}
	if _, has := given["$dynamicRef"]; has {
		return fmt.Errorf("%s has a $dynamicRef, which is not supported", place)
	}
	if _, has := given["$id"]; has && place != "the whole" {
		return fmt.Errorf("%s has a $id, which is not supported below the top", place)
	}
	return nil
}

// pattern takes in a regular expression. It reports false for one that is none of Go's: that is ignored.
func (d *document) pattern(text, place string) (known bool, err error) {
	if d.sizes[text] > 0 {
		return true, nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return false, nil
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return false, nil
	}
	total := len(program.Inst)
	for _, size := range d.sizes {
		total += size
	}
	if total > maxPatterns/10 && len(d.sizes) == 0 || total > maxPatterns {
		return false, fmt.Errorf("a regular expression of %s has %d instructions, which is more than is allowed; repeat less, "+
			"such as {1,100} in place of {1,1000}", place, len(program.Inst))
	}
	d.sizes[text] = len(program.Inst)
	d.patterns[text], err = regexp.Compile(text)
	return err == nil, nil
}

// find returns the schema that a reference leads to.
func (d *document) find(ref string) (any, error) {
	found := d.root
	for _, name := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
		name = unescape.Replace(name)
		switch in := found.(type) {
		case map[string]any:
			found = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, errNoSchema
			}
			found = in[i]
		}
	}
	if found == nil {
		return nil, errNoSchema
	}
	return found, nil
}

var errNoSchema = errors.New("a $ref leads to a place where there is no schema")

// short returns the beginning of a text for an error.
func short(text string) string {
	const most = 300
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// list returns v if it is a list, and otherwise a list with v.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

var unescape = strings.NewReplacer("~1", "/", "~0", "~")
