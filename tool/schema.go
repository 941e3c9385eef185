package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
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
//
// Schemas and arguments are bounded; see Schema.
func (t *Tool) Check() (func(ctx context.Context, args map[string]any) error, error) {
	d := t.Declaration
	switch {
	case d == nil:
		return nil, errors.New("tool: a tool has no Declaration; give it one with a name")
	case !names.MatchString(d.Name):
		return nil, fmt.Errorf("tool %q: a name is a letter or underscore, then letters, digits, '_', '.' and '-', at most 64 in all", d.Name)
	case d.ParametersJsonSchema != nil && d.Parameters != nil:
		return nil, fmt.Errorf("tool %s: it has both Parameters and ParametersJsonSchema; give it one", d.Name)
	case d.ParametersJsonSchema == nil && d.Parameters == nil:
		return func(context.Context, map[string]any) error { return nil }, nil
	}
	parameters := d.ParametersJsonSchema
	if parameters == nil {
		parameters = d.Parameters
	}
	doc, err := parse(parameters)
	if err == nil && doc.root()["type"] != "object" {
		err = errors.New(`the schema's type is not "object": a model passes arguments by name`)
	}
	if err != nil {
		return nil, fmt.Errorf("tool %s: parameters: %w", d.Name, err)
	}
	return func(ctx context.Context, args map[string]any) error {
		if args == nil {
			args = map[string]any{}
		}
		err := doc.check(ctx, args)
		if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Cause(ctx))) {
			return fmt.Errorf("the arguments do not fit: %w", err)
		}
		return err
	}, nil
}

// Schema compiles a JSON schema: a *jsonschema.Schema, a *genai.Schema, a json.RawMessage, or
// anything else that marshals to one. It returns a function that compares a JSON value with it. What
// that function returns says where each bad value is, as a JSON pointer, and what would fit; or it
// is why the context has ended.
//
// A reference must name a place in the same schema ("#/$defs/name"); a reference to another
// document, or in a circle, is an error. A pattern that is not a regular expression of Go is
// ignored, and a schema of an unknown draft is read as 2020-12.
//
// A schema may come from a stranger, such as the server that has the tool. So one is an error if it
// is larger than 1 MiB, has more than 5,000 schemas in it or more than 100 around one another, if one
// value would be compared more than 10,000 times, or if a regular expression is very large. A value
// // is an error that would take more than 1,000,000 steps, which is about a second. So a hostile schema
// does not hold up its caller, who does not wait for a check longer than its context lasts.
func Schema(schema any) (func(ctx context.Context, value any) error, error) {
	doc, err := parse(schema)
	if err != nil {
		return nil, err
	}
	return doc.check, nil
}

// check compares a JSON value with the whole schema.
func (d *document) check(ctx context.Context, v any) error {
	measured, err := read(v)
	if err != nil {
		return err
	}
	m := &meter{document: d, ctx: ctx}
	if err := m.measure(d.nodes[0], measured); err != nil {
		return err
	}
	compare := func() error {
		verdict := d.validate(d.nodes[0], measured.plain)
		if verdict == nil {
			return nil
		}
		return errors.New(d.explain(ctx, measured, verdict))
	}
	if m.steps <= briefSteps {
		return compare()
	}
	// The library cannot be stopped, so its caller does not wait for it.
	done := make(chan error, 1)
	go func() { done <- compare() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
