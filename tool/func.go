package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// New returns a tool of a Go function. The model learns its parameters from In, a struct:
//
//   - a field's name, and with omitempty or omitzero that it may be left out, come from its json
//     tag; a pointer may be left out too;
//   - its description comes from its jsonschema tag, which is that text and nothing else;
//   - what a type takes beyond that, such as an enum or a range, its method JSONSchema()
//     *jsonschema.Schema says. A time.Time is a date and time as in RFC 3339, a []byte is base64,
//     what has UnmarshalText is a text, an any is any JSON value.
//
// If a call's arguments do not fit, or one is not known, the model gets an error as the response,
// and f is not called. Null fits only an any. The schema is Declaration.ParametersJsonSchema, a
// *jsonschema.Schema, nil if In has no fields.
//
// The response is Out if that is a JSON object, and otherwise {"result": Out}. A nil map or pointer
// means that there is no response yet.
func New[In, Out any](name, description string,
	f func(ctx context.Context, call *Call, in In) (Out, error)) (*Tool, error) {
	in, err := infer(reflect.TypeFor[In]())
	if err != nil {
		return nil, fmt.Errorf("tool %s: parameters: %w", name, err)
	}
	t := &Tool{Declaration: &genai.FunctionDeclaration{Name: name, Description: description}}
	if in != nil {
		t.Declaration.ParametersJsonSchema = in
	}
	if _, err := t.Check(); err != nil {
		return nil, err
	}
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
	if v := reflect.ValueOf(out); v.Kind() == reflect.Slice && v.IsNil() {
		return map[string]any{"result": []any{}}, nil // nothing is a result too
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("the tool's result cannot be written as JSON: %w", err)
	}
	value, err := session.DecodeValue(data)
	if err != nil {
		return nil, fmt.Errorf("the tool's result cannot be written as JSON: %w", err)
	}
	switch v := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	}
	return map[string]any{"result": value}, nil
}
