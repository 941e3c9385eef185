package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

// errLater says that the person leaves a question for later.
var errLater = errors.New("later")

// askForAnswer puts the question of a workflow's node, and returns the response; nil puts it off. An
// object of simple values is asked for value by value, or typed as JSON at once; what is no simple
// value is JSON.
func (c *chat) askForAnswer(ctx context.Context, call session.Call) (*session.Event, error) {
	fmt.Fprintf(c.Out, "%s %s\n", c.style.Bold("question:"), eventtext.Printable(question(call)))
	schema, _ := call.Args["response_schema"].(map[string]any)
	fields := fieldsOf(schema)
	if fields == nil && !simple(schema) {
		fmt.Fprintln(c.Out, c.style.Dim("  the answer is JSON: "+eventtext.Printable(eventtext.JSON(schema))))
	}
	if err := c.Out.Flush(); err != nil {
		return nil, err
	}
	var answer any
	var err error
	if fields == nil {
		answer, _, err = c.askForValue(ctx, "answer"+hint(schema, true)+": ", schema, false)
		if answer == nil && err == nil {
			err = errLater
		}
	} else {
		answer, err = c.askForFields(ctx, fields)
	}
	switch {
	case errors.Is(err, errLater):
		c.Note("not answered; /approve asks again")
		return nil, nil
	case errors.Is(err, io.EOF), errors.Is(err, errAborted):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return session.Respond(call.FunctionCall, map[string]any{"result": answer}), nil
}

// askForFields asks for an object, value by value. A line that is a JSON object is the whole.
func (c *chat) askForFields(ctx context.Context, fields []field) (any, error) {
	object := map[string]any{}
	for _, f := range fields {
		value, line, err := c.askForValue(ctx, "  "+f.name+hint(f.schema, f.required)+": ", f.schema, len(object) == 0)
		if err != nil {
			return nil, err
		}
		if len(object) == 0 {
			if whole, ok := jsonObject(line); ok {
				return whole, nil
			}
		}
		switch {
		case value != nil:
			object[f.name] = value
		case f.required:
			return nil, errLater
		}
	}
	return object, nil
}

// askForValue asks until the line that is typed is a value of a schema, or empty; then the value is
// nil. With objects, a line that is a JSON object ends it, too.
func (c *chat) askForValue(ctx context.Context, prompt string, schema map[string]any, objects bool) (value any, line string, err error) {
	for {
		if line, err = c.readAnswer(ctx, prompt); err != nil {
			return nil, "", err
		}
		if line == "" {
			return nil, line, nil
		}
		value, ok := typedValue(line, schema)
		if ok {
			return value, line, nil
		}
		if _, ok := jsonObject(line); ok && objects {
			return nil, line, nil
		}
		c.Note("please answer with %s, or with an empty line", wanted(schema))
	}
}

// typedValue returns the value of a schema that a line is.
func typedValue(line string, schema map[string]any) (any, bool) {
	if choices, ok := schema["enum"].([]any); ok {
		i := slices.IndexFunc(choices, func(choice any) bool { return choice == any(line) || eventtext.JSON(choice) == line })
		if i < 0 {
			return nil, false
		}
		return choices[i], true
	}
	value, err := jsonValue(line)
	_, isNumber := value.(interface{ Float64() (float64, error) })
	switch schema["type"] {
	case "string":
		return line, true
	case "boolean":
		switch strings.ToLower(line) {
		case "true", "yes", "y":
			return true, true
		case "false", "no", "n":
			return false, true
		}
		return nil, false
	case "number", "integer":
		return value, isNumber
	case "array":
		_, isList := value.([]any)
		return value, isList
	case "object":
		_, isObject := value.(map[string]any)
		return value, isObject
	case nil:
		if err != nil {
			return line, true
		}
	}
	return value, err == nil
}

// jsonObject returns the JSON object that a line is.
func jsonObject(line string) (object map[string]any, ok bool) {
	value, _ := jsonValue(line)
	object, ok = value.(map[string]any)
	return object, ok
}

// A field is a value of an object that is asked for.
type field struct {
	name     string
	schema   map[string]any
	required bool
}

// fieldsOf returns the fields of an object whose values are simple, those that must be there first;
// nil for anything else.
func fieldsOf(schema map[string]any) (fields []field) {
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] != "object" {
		return nil
	}
	add := func(name string, required bool) bool {
		of, _ := properties[name].(map[string]any)
		if slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return true
		}
		fields = append(fields, field{name: name, schema: of, required: required})
		return of != nil && simple(of)
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); !ok || !add(name, true) {
			return nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !add(name, false) {
			return nil
		}
	}
	return fields
}

// simple reports whether a value of a schema is typed on a line as it is.
func simple(schema map[string]any) bool {
	switch schema["type"] {
	case nil:
		return schema["enum"] != nil || len(schema) == 0
	case "string", "boolean", "number", "integer":
		return true
	}
	return false
}

// hint says on a prompt which values fit.
func hint(schema map[string]any, required bool) string {
	var words []string
	if what, _ := schema["description"].(string); what != "" {
		words = append(words, eventtext.OneLine(what, 60))
	}
	if schema["type"] != "string" && simple(schema) && len(schema) > 0 || schema["enum"] != nil {
		words = append(words, wanted(schema))
	}
	if !required {
		words = append(words, "may be empty")
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, "; ") + ")"
}

// wanted says which values a schema takes.
func wanted(schema map[string]any) string {
	if choices, ok := schema["enum"].([]any); ok {
		var words []string
		for _, choice := range choices {
			words = append(words, eventtext.OneLine(fmt.Sprint(choice), 40))
		}
		return "one of: " + strings.Join(words, ", ")
	}
	switch schema["type"] {
	case "boolean":
		return "yes or no"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	}
	return fmt.Sprintf("JSON of the type %v", schema["type"])
}
