package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genai"
)

// functions translates the tools, and which of them can be called.
func functions(p *chatRequest, c *genai.GenerateContentConfig) error {
	choice := &genai.FunctionCallingConfig{}
	if t := c.ToolConfig; t != nil {
		if err := supported("the tool configuration", *t, "FunctionCallingConfig",
			"IncludeServerSideToolInvocations"); err != nil {
			return err
		}
		if t.FunctionCallingConfig != nil {
			choice = t.FunctionCallingConfig
		}
	}
	allowed := choice.AllowedFunctionNames
	declared := map[string]bool{}
	for _, t := range c.Tools {
		if t == nil {
			continue
		}
		if err := supported("a tool", *t, "FunctionDeclarations"); err != nil {
			return err
		}
		for _, d := range t.FunctionDeclarations {
			if d == nil {
				continue
			}
			declared[d.Name] = true
			if len(allowed) > 0 && !slices.Contains(allowed, d.Name) {
				continue
			}
			f, err := function(d)
			if err != nil {
				return fmt.Errorf("function %s: its parameters: %w", d.Name, err)
			}
			p.Tools = append(p.Tools, *f)
		}
	}
	for _, name := range allowed {
		if !declared[name] {
			return fmt.Errorf("function %s is allowed, but not declared", name)
		}
	}
	switch mode := choice.Mode; {
	case mode == genai.FunctionCallingConfigModeAny && len(p.Tools) == 0:
		return errors.New("the mode of function calling is ANY, but there are no functions")
	case mode == genai.FunctionCallingConfigModeAny:
		p.ToolChoice = "required"
	case mode == genai.FunctionCallingConfigModeNone && len(p.Tools) > 0:
		p.ToolChoice = "none"
	case mode != "" && !slices.Contains([]genai.FunctionCallingConfigMode{genai.FunctionCallingConfigModeUnspecified, genai.FunctionCallingConfigModeAuto,
		genai.FunctionCallingConfigModeValidated, genai.FunctionCallingConfigModeNone}, mode):
		return fmt.Errorf("the mode of function calling is %s; it can be AUTO, ANY or NONE", mode)
	}
	return nil
}

// function translates a declaration.
func function(d *genai.FunctionDeclaration) (*functionTool, error) {
	schema, err := schemaOf(d.ParametersJsonSchema, d.Parameters)
	if err != nil {
		return nil, err
	}
	if schema == nil {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(schema, &object) != nil || object == nil {
		return nil, errors.New("the schema is not an object")
	}
	// OpenAI refuses it without
	if string(object["type"]) == `"object"` && object["properties"] == nil {
		object["properties"] = json.RawMessage("{}")
		if schema, err = json.Marshal(object); err != nil {
			return nil, err
		}
	}
	f := &functionTool{Type: "function"}
	f.Function.Name = d.Name
	f.Function.Description = d.Description
	f.Function.Parameters = schema
	return f, nil
}
