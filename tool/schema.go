package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"
)

// names is what the models take as a function's name.
var names = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

// Check returns an error that names the tool if models would refuse its declaration: if the name is
// not valid, or the parameters are not the schema of an object. Otherwise it returns a function
// that checks a call's arguments. What that function returns is for the model: it says where each
// bad value is, as a JSON pointer, and what would fit.
//
// If the declaration has no parameters, any arguments are accepted: models sometimes invent
// arguments for a function that takes none, and they do no harm.
func (t *Tool) Check() (func(args map[string]any) error, error) {
	d := t.Declaration
	switch {
	case d == nil:
		return nil, errors.New("tool: a tool has no Declaration; give it one with a name")
	case !names.MatchString(d.Name):
		return nil, fmt.Errorf("tool %q: a name is a letter or underscore, then letters, digits, '_', '.' and '-', at most 64 in all", d.Name)
	case d.ParametersJsonSchema != nil && d.Parameters != nil:
		return nil, fmt.Errorf("tool %s: it has both Parameters and ParametersJsonSchema; give it one", d.Name)
	case d.ParametersJsonSchema == nil && d.Parameters == nil:
		return func(map[string]any) error { return nil }, nil
	}
	parameters := d.ParametersJsonSchema
	if parameters == nil {
		parameters = d.Parameters
	}
	doc, err := parse(parameters)
	if err == nil && doc.root()["type"] != "object" {
		err = errors.New(`the schema's type is not "object": a model passes arguments by name`)
	}
	var resolved *jsonschema.Resolved
	if err == nil {
		resolved, err = doc.resolve("")
	}
	if err != nil {
		return nil, fmt.Errorf("tool %s: parameters: %w", d.Name, err)
	}
	return func(args map[string]any) error {
		value := make(map[string]any, len(args))
		for k, v := range args {
			value[k] = numbers(v)
		}
		if err := resolved.Validate(value); err != nil {
			return fmt.Errorf("the arguments do not fit: %s", doc.explain(value, err))
		}
		return nil
	}, nil
}

// numbers returns a JSON value with a json.Number as a Go number: the library takes one for a text.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
	case map[string]any:
		copied := make(map[string]any, len(v))
		for k, x := range v {
			copied[k] = numbers(x)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, x := range v {
			copied[i] = numbers(x)
		}
		return copied
	}
	return v
}

// Schema compiles a JSON schema: a *jsonschema.Schema, a *genai.Schema, a json.RawMessage, or
// anything else that marshals to one. A reference must name a place in the same schema
// ("#/$defs/name"); a reference to another document, or in a circle, is an error.
//
// A pattern that is not a regular expression of Go is ignored, and a schema of an unknown draft is
// read as 2020-12.
func Schema(schema any) (*jsonschema.Resolved, error) {
	doc, err := parse(schema)
	if err != nil {
		return nil, err
	}
	return doc.resolve("")
}
