package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"
)

// New returns a tool of a Go function. The model learns its parameters from In, a struct: a field's name
// and whether it may be left out come from its json tag, its description from its jsonschema tag (see
// package github.com/google/jsonschema-go/jsonschema, which infers the schema). Arguments that do not fit
// are answered to the model and do not reach f.
//
// The response is Out as a JSON object, or {"result": Out} if Out is none.
func New[In, Out any](name, description string, f func(ctx context.Context, call *Call, in In) (Out, error)) (*Tool, error) {
	in, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("tool %s: parameters: %w", name, err)
	}
	if in.Type != "object" {
		return nil, fmt.Errorf("tool %s: its parameters are of type %T; a model needs names, so make it a struct", name, *new(In))
	}
	t := &Tool{Declaration: &genai.FunctionDeclaration{Name: name, Description: description, ParametersJsonSchema: in}}
	t.Run = func(ctx context.Context, call *Call) (map[string]any, error) {
		var args In
		data, err := json.Marshal(call.Args)
		if err == nil {
			err = json.Unmarshal(data, &args)
		}
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		out, err := f(ctx, call, args)
		if err != nil {
			return nil, err
		}
		return response(out)
	}
	return t, nil
}

// response returns a value as a function's response.
func response(out any) (map[string]any, error) {
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("the tool returned what is no JSON: %w", err)
	}
	var object map[string]any
	if json.Unmarshal(data, &object) == nil {
		return object, nil // nil for null
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	return map[string]any{"result": value}, nil
}
