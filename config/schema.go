package config

import (
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON Schema of a configuration file, made of the types that the file is read
// into.
func Schema() (*jsonschema.Schema, error) {
	agents := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/agent"}}
	s, err := jsonschema.For[file](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): {Type: "string",
			Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
		reflect.TypeFor[[]agentConfig](): agents, // which have agents
		reflect.TypeFor[size](): {Types: []string{"integer", "string"},
			Pattern: sizeForm.String()},
		reflect.TypeFor[pluginFile](): {Types: []string{"string", "object"},
			MinProperties: jsonschema.Ptr(1), MaxProperties: jsonschema.Ptr(1),
			AdditionalProperties: &jsonschema.Schema{Type: "string", Pattern: sha256Digits.String()}},
	}})
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Configuration of runner"
	s.Defs = map[string]*jsonschema.Schema{"agent": s.Properties["agent"]}
	s.Properties["agent"] = &jsonschema.Schema{Ref: "#/$defs/agent",
		Description: s.Defs["agent"].Description}
	for _, k := range modelKinds {
		s.Properties["models"].Items.OneOf = append(s.Properties["models"].Items.OneOf,
			&jsonschema.Schema{Required: []string{k.name}})
	}
	item := s.Properties["plugins"].Items
	item.Properties["on_error"].Enum = []any{onErrors[0], onErrors[1]}
	item.Properties["isolation"].Enum = []any{isolations[0], isolations[1]}
	item.DependentRequired = map[string][]string{}
	item.DependentSchemas = map[string]*jsonschema.Schema{}
	for _, key := range commandKeys {
		if slices.Contains(startKeys, key) {
			item.DependentRequired[key] = []string{processKind}
		} else {
			item.DependentSchemas[key] = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Required: []string{processKind}}, {Required: []string{attachKind}}}}
		}
	}
	for _, k := range kinds {
		item.OneOf = append(item.OneOf, &jsonschema.Schema{Required: []string{k.name}})
	}
	return s, nil
}
