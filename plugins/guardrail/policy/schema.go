package policy

import (
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
)

// Schema returns the JSON Schema of policy files, for editors. It takes everything that Parse
// takes. Parse refuses more: rules that can never have an effect, types that a rule does not find,
// actions that do not fit a rule, ids that are there twice, and wrong globs, addresses, conditions
// and expressions.
func Schema() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[form.File](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): {Type: "string",
			Pattern: `^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`},
	}})
	if err != nil {
		return nil, err
	}
	plain(s)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Policy of the guardrail"
	s.AnyOf = []*jsonschema.Schema{
		{Required: []string{"rules"}}, {Required: []string{"include"}}, {Required: []string{"lists"}},
		{Required: []string{"pin_tools"}},
	}
	s.Properties["rules"].MinItems = jsonschema.Ptr(1)
	s.Properties["pin_tools"].MinItems = jsonschema.Ptr(1)
	s.Properties["version"].Enum = []any{1}
	enum(s, "mode", "enforce", "shadow")
	enum(s, "on_error", Block, Allow)
	enum(s.Properties["limits"], "over_limit", Block, Flag)
	least(s.Properties["limits"], "max_bytes")
	budget := s.Properties["judges"]
	least(budget, "tokens")
	budget.Properties["usd"].ExclusiveMinimum = jsonschema.Ptr(0.0)
	budget.Properties["user_share"].ExclusiveMinimum = jsonschema.Ptr(0.0)
	budget.Properties["user_share"].Maximum = jsonschema.Ptr(1.0)
	budget.Properties["per"].AllOf = []*jsonschema.Schema{{Pattern: "[1-9]"}}
	budget.AnyOf = []*jsonschema.Schema{{Required: []string{"tokens"}}, {Required: []string{"usd"}}}

	rule := s.Properties["rules"].Items
	stages := rule.Properties["stages"]
	stages.Items.Enum = values(Stages()...)
	stages.MinItems = jsonschema.Ptr(1)
	stages.UniqueItems = true
	enum(rule, "mode", "enforce", "shadow")
	enum(rule, "severity", severities...)
	enum(rule, "window", "part", "turn", "session")
	enum(rule, "trust", "any", "untrusted")
	enum(rule.Properties["tools"], "other", Allow, Ask, Block)
	perType := &jsonschema.Schema{
		Type:                 "object",
		AdditionalProperties: actionSchema(),
		MinProperties:        jsonschema.Ptr(1),
	}
	either(rule, "action", actionSchema(), perType)
	judge := rule.Properties["judge"]
	judge.OneOf = []*jsonschema.Schema{{Required: []string{"url"}},
		{Required: []string{"model"}, AnyOf: []*jsonschema.Schema{
			{Required: []string{"question"}},
			{Required: []string{"grounding"}, Properties: map[string]*jsonschema.Schema{
				"grounding": {Const: jsonschema.Ptr[any](true)}}},
		}}}
	enum(judge, "on_error", Block, Allow)
	enum(judge, "sees", "edited", "original")
	judge.Properties["examples"].Items.Properties["text"].MinLength = jsonschema.Ptr(1)
	judge.Properties["threshold"].ExclusiveMinimum = jsonschema.Ptr(0.0)
	judge.Properties["threshold"].Maximum = jsonschema.Ptr(1.0)
	judge.Properties["timeout"].AllOf = []*jsonschema.Schema{{Pattern: "[1-9]"}}
	scope := rule.Properties["scope"]
	scope.MinProperties = jsonschema.Ptr(1)
	for _, allow := range []*jsonschema.Schema{s.Properties["allow"], rule.Properties["allow"]} {
		allow.MinProperties = jsonschema.Ptr(1)
	}
	rule.Properties["min_score"].ExclusiveMinimum = jsonschema.Ptr(0.0)
	rule.Properties["min_score"].Maximum = jsonschema.Ptr(1.0)
	s.Properties["lists"].AdditionalProperties = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{textsSchema(), {
		Type: "object", Required: []string{"file"},
		Properties:           map[string]*jsonschema.Schema{"file": textSchema()},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}}}
	for _, key := range []string{"from", "to"} {
		rule.Properties[key].MinProperties = jsonschema.Ptr(1)
		either(rule.Properties[key], "tool", textSchema(), textsSchema())
	}
	enum(rule.Properties["from"], "within", "session", "turn")
	for name := range scope.Properties {
		either(scope, name, textSchema(), textsSchema())
	}
	detects := rule.Properties["detect"]
	detects.MinProperties = jsonschema.Ptr(1)
	levels := &jsonschema.Schema{Enum: []any{"default", "strict"}}
	either(detects, "secrets", &jsonschema.Schema{Enum: []any{"default", "strict"}}, &jsonschema.Schema{
		Type: "object", Required: []string{"level"}, Properties: map[string]*jsonschema.Schema{"level": levels},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	})
	enum(detects, "injection", "default")
	either(detects, "pii", &jsonschema.Schema{Const: jsonschema.Ptr[any]("default")},
		&jsonschema.Schema{
			Type:     "array",
			Items:    &jsonschema.Schema{Enum: values(detect.PIITypes()...)},
			MinItems: jsonschema.Ptr(1),
		})
	either(detects, "words", textsSchema(), byTypeSchema(textsSchema()))
	either(detects, "regexp", textSchema(), byTypeSchema(textSchema()))
	least(detects.Properties["length"], "bytes")
	least(detects.Properties["length"], "tokens")
	detects.Properties["length"].MinProperties = jsonschema.Ptr(1)
	kinds(rule)

	test := s.Properties["tests"].Items
	enum(test, "stage", Stages()...)
	enum(test, "want", slices.Concat(actions, []Action{form.WantError})...)
	test.Properties["judge"].AdditionalProperties = &jsonschema.Schema{Types: []string{"boolean", "string"}}
	return s, nil
}

// plain refuses null in place of a list, and empty texts.
func plain(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type = s.Types[1]
		s.Types = nil
	}
	for name, p := range s.Properties {
		plain(p)
		if p.Type == "string" && p.Pattern == "" && name != "text" && name != "after" {
			p.MinLength = jsonschema.Ptr(1)
		}
	}
	if s.Items != nil {
		plain(s.Items)
	}
}

// kinds says what a rule with tools, or with a judge, cannot have beside it.
func kinds(rule *jsonschema.Schema) {
	without := func(keys ...string) *jsonschema.Schema {
		none := &jsonschema.Schema{}
		for _, key := range keys {
			none.AnyOf = append(none.AnyOf, &jsonschema.Schema{Required: []string{key}})
		}
		return &jsonschema.Schema{Not: none}
	}
	having := func(key string, then *jsonschema.Schema) {
		rule.AllOf = append(rule.AllOf, &jsonschema.Schema{If: &jsonschema.Schema{Required: []string{key}}, Then: then})
	}
	rule.AnyOf = []*jsonschema.Schema{{Required: []string{"action"}}, {Required: []string{"tools"}}}
	tools := without("action", "detect", "judge")
	tools.Properties = map[string]*jsonschema.Schema{"stages": {Const: jsonschema.Ptr[any]([]any{string(ToolArgs)})}}
	having("tools", tools)
	having("judge", without("detect"))
}

// A schema may not stand in two places of a tree, so each call of these functions makes a new one.

func actionSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: values(ruleActions()...)}
}

// byTypeSchema is of an object with a value for each type of finding.
func byTypeSchema(value *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:                 "object",
		AdditionalProperties: value,
		MinProperties:        jsonschema.Ptr(1),
		PropertyNames: &jsonschema.Schema{Pattern: judging.TypeForm.String(),
			Not: &jsonschema.Schema{Enum: []any{typeText, typeLength}}},
	}
}

func textSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}
}

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
