package guardrail

import (
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// Schema returns the JSON Schema of policy files, for editors. Parse refuses more than it does: rules that can never decide
// anything, types that a rule does not find, globs, conditions and expressions that are none.
func Schema() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[form](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): {Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
	}})
	if err != nil {
		return nil, err
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Policy of the guardrail"
	s.Properties["version"].Enum = []any{1}
	enum(s, "mode", "enforce", "shadow")
	enum(s, "on_error", Block, Allow)
	enum(s.Properties["limits"], "over_limit", Block, Flag)
	least(s.Properties["limits"], "max_bytes")

	rule := s.Properties["rules"].Items
	rule.AnyOf = []*jsonschema.Schema{{Required: []string{"action"}}, {Required: []string{"tools"}}}
	rule.Properties["id"].MinLength = jsonschema.Ptr(1)
	stages := rule.Properties["stages"]
	stages.Items.Enum, stages.MinItems, stages.UniqueItems = values(Stages()...), jsonschema.Ptr(1), true
	enum(rule, "mode", "enforce", "shadow")
	enum(rule, "window", "part", "turn", "session")
	enum(rule, "trust", "any", "untrusted")
	enum(rule.Properties["tools"], "other", Allow, Ask, Block)
	either(rule, "action", actionSchema(), &jsonschema.Schema{Type: "object", AdditionalProperties: actionSchema(),
		PropertyNames: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Const: jsonschema.Ptr[any]("*")}, typeSchema()}}})
	judge := rule.Properties["judge"]
	judge.OneOf = []*jsonschema.Schema{{Required: []string{"url"}}, {Required: []string{"model", "question"}}}
	enum(judge, "on_error", Block, Allow)
	for name := range rule.Properties["scope"].Properties {
		either(rule.Properties["scope"], name, textSchema(), textsSchema())
	}
	detects := rule.Properties["detect"]
	enum(detects, "secrets", "default")
	either(detects, "pii", &jsonschema.Schema{Const: jsonschema.Ptr[any]("default")},
		&jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Enum: values(detect.PIITypes()...)}, MinItems: jsonschema.Ptr(1)})
	either(detects, "words", textsSchema(), &jsonschema.Schema{Type: "object", PropertyNames: typeSchema(), AdditionalProperties: textsSchema()})
	either(detects, "regexp", textSchema(), &jsonschema.Schema{Type: "object", PropertyNames: typeSchema(), AdditionalProperties: textSchema()})
	least(detects.Properties["length"], "bytes")
	least(detects.Properties["length"], "tokens")

	limit := rule.Properties["limit"]
	enum(limit, "per", "session", "user", "app")
	limit.Required = []string{"per"}
	for _, what := range []countable{countRuns, countModelCalls, countToolCalls, countTokens} {
		least(limit, string(what))
		limit.OneOf = append(limit.OneOf, &jsonschema.Schema{Required: []string{string(what)}})
	}

	test := s.Properties["tests"].Items
	enum(test, "stage", Stages()...)
	enum(test, "want", actions...)
	return s, nil
}

// A schema is a tree, so each of these is made anew wherever it is wanted.

func actionSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: values(actions...)}
}

func typeSchema() *jsonschema.Schema { return &jsonschema.Schema{Pattern: typeForm.String()} }

func textSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

func textsSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: textSchema(), MinItems: jsonschema.Ptr(1)}
}

// enum makes a property one of some words.
func enum[S ~string](s *jsonschema.Schema, name string, words ...S) {
	s.Properties[name].Enum = values(words...)
}

func values[S ~string](words ...S) (list []any) {
	for _, w := range words {
		list = append(list, string(w))
	}
	return list
}

// either makes a property, which may be anything, of one of these forms.
func either(s *jsonschema.Schema, name string, forms ...*jsonschema.Schema) {
	s.Properties[name].AnyOf = forms
}

// least makes a property a number above 0.
func least(s *jsonschema.Schema, name string) { s.Properties[name].Minimum = jsonschema.Ptr(1.0) }
