package config

import (
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plughook/plughook/plugin"
)

// Schema returns the JSON Schema of a configuration file, made of the types that the file is read
// into.
func Schema() (*jsonschema.Schema, error) {
	ref := func(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }
	duration := &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
	timeouts := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, kind := range plugin.Hooks {
		of := duration.CloneSchemas()
		of.Description = "the timeout of " + string(kind.Name)
		timeouts.Properties[string(kind.Name)] = of
		timeouts.PropertyOrder = append(timeouts.PropertyOrder, string(kind.Name))
	}
	options := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): duration,
		reflect.TypeFor[hookTimeouts]():  timeouts,
		// These have agents and workflows in them.
		reflect.TypeFor[agentConfig]():    ref("agent"),
		reflect.TypeFor[workflowConfig](): ref("workflow"),
		reflect.TypeFor[targets]():        {Types: []string{"string", "array"}, Items: &jsonschema.Schema{Type: "string"}},
		reflect.TypeFor[size](): {Types: []string{"integer", "string"},
			Pattern: sizeForm.String()},
		reflect.TypeFor[pluginFile](): {Types: []string{"string", "object"},
			MinProperties: jsonschema.Ptr(1), MaxProperties: jsonschema.Ptr(1),
			AdditionalProperties: &jsonschema.Schema{Type: "string", Pattern: sha256Digits.String()}},
	}}
	s, err := jsonschema.For[file](options)
	if err != nil {
		return nil, err
	}
	node, err := jsonschema.For[nodeConfig](options)
	if err != nil {
		return nil, err
	}
	delete(options.TypeSchemas, reflect.TypeFor[workflowConfig]())
	options.TypeSchemas[reflect.TypeFor[[]nodeConfig]()] = &jsonschema.Schema{Type: "array", Items: ref("node")}
	flow, err := jsonschema.For[workflowConfig](options)
	if err != nil {
		return nil, err
	}
	options.TypeSchemas[reflect.TypeFor[workflowConfig]()] = ref("workflow")
	delete(options.TypeSchemas, reflect.TypeFor[agentConfig]())
	options.TypeSchemas[reflect.TypeFor[[]agentConfig]()] = &jsonschema.Schema{Type: "array", Items: ref("agent")}
	an, err := jsonschema.For[agentConfig](options)
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Configuration of runner"
	s.Defs = map[string]*jsonschema.Schema{
		"agent":    an,
		"node":     node,
		"workflow": flow,
	}
	withoutNull(s, an, node, flow, node.Properties["each"])
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

// withoutNull lets no property be null that refers to a definition: a pointer's could be.
func withoutNull(schemas ...*jsonschema.Schema) {
	for _, s := range schemas {
		for _, p := range s.Properties {
			if p.Ref != "" {
				p.Type = ""
				p.Types = nil
			}
		}
	}
}
