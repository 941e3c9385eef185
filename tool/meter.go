package tool

import (
	"context"
	"errors"
	"slices"
	"strconv"
)

// maxSteps bounds the check of one value. A step takes about a microsecond.
const maxSteps = 1_000_000

// maxChain is how many schemas may lead one to the next for the same value.
const maxChain = 200

var errSteps = errors.New("the check against the schema would take more than the " + strconv.Itoa(maxSteps) +
	" steps that are allowed; pass less, or less deeply nested, or use a simpler schema")

var errCircle = errors.New("a $ref leads back to itself, or through more than " + strconv.Itoa(maxChain) +
	" schemas for the same value, which is the most that is allowed")

// A meter counts the steps of a check before the library makes it, since the library cannot be stopped. It goes the ways
// that the library goes, or more.
type meter struct {
	*document
	ctx   context.Context // nil if there is no time limit
	steps int             // so far
	calls int
}

// evaluate counts what it takes to compare a value with a schema. It returns errSteps if that is too much, errCircle if
// the schema leads back to itself, or why the context has ended. chain is how many schemas have led here.
func (m *meter) evaluate(schema, v any, chain int) error {
	keywords, _ := schema.(map[string]any)
	m.spend(keywords, v)
	m.calls++
	switch {
	case m.steps > maxSteps:
		return errSteps
	case chain > maxChain:
		return errCircle
	case m.ctx != nil && m.calls%1024 == 1 && m.ctx.Err() != nil:
		return context.Cause(m.ctx)
	case keywords == nil:
		return nil
	}

	// The same value.
	if ref, ok := keywords["$ref"].(string); ok {
		to, err := m.find(ref)
		if err != nil {
			return err
		}
		if err := m.evaluate(to, v, chain+1); err != nil {
			return err
		}
	}
	var same []any
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		subs, _ := keywords[k].([]any)
		same = append(same, subs...)
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		if sub, has := keywords[k]; has {
			same = append(same, sub)
		}
	}
	object, _ := v.(map[string]any)
	for _, k := range []string{"dependencies", "dependentSchemas"} {
		subs, _ := keywords[k].(map[string]any)
		for name, sub := range subs {
			if _, has := object[name]; has {
				same = append(same, sub)
			}
		}
	}
	for _, sub := range same {
		if err := m.evaluate(sub, v, chain+1); err != nil {
			return err
		}
	}

	// The values in it.
	if items, ok := v.([]any); ok {
		return m.items(keywords, items)
	}
	return m.properties(keywords, object)
}

func (m *meter) items(keywords map[string]any, items []any) error {
	first, _ := keywords["prefixItems"].([]any)
	rest := keywords["items"]
	if tuple, ok := rest.([]any); ok {
		first = tuple
		rest = keywords["additionalItems"]
	}
	for i, item := range items {
		subs := []any{rest, keywords["contains"], keywords["unevaluatedItems"]}
		if i < len(first) {
			subs[0] = first[i]
		}
		if err := m.each(subs, item); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) properties(keywords, object map[string]any) error {
	named, _ := keywords["properties"].(map[string]any)
	patterns, _ := keywords["patternProperties"].(map[string]any)
	for name, in := range object {
		subs := []any{keywords["unevaluatedProperties"]}
		sub, known := named[name]
		for text, sub := range patterns {
			m.steps += (len(name) + 1) * m.sizes[text] / 64
			if m.steps > maxSteps {
				return errSteps
			}
			if m.patterns[text].MatchString(name) {
				subs = append(subs, sub)
				known = true
			}
		}
		if !known {
			sub = keywords["additionalProperties"]
		}
		if err := m.each(append(subs, sub), in); err != nil {
			return err
		}
		if err := m.each([]any{keywords["propertyNames"]}, name); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) each(schemas []any, v any) error {
	for _, schema := range slices.DeleteFunc(schemas, func(s any) bool { return s == nil }) {
		if err := m.evaluate(schema, v, 0); err != nil {
			return err
		}
	}
	return nil
}

// spend counts the evaluation of one schema without those in it. The library writes the value into the error of each
// schema that it does not fit.
func (m *meter) spend(keywords map[string]any, v any) {
	values, bytes := size(v, maxSteps)
	m.steps += 1 + len(keywords)/8 + values/8 + bytes/256
	for _, k := range []string{"enum", "const", "required"} {
		values, bytes := size(keywords[k], maxSteps)
		m.steps += values/8 + bytes/64
	}
	switch v := v.(type) {
	case string:
		text, _ := keywords["pattern"].(string)
		m.steps += len(v) * m.sizes[text] / 64
	case float64, int64:
		if keywords["multipleOf"] != nil {
			m.steps += 32
		}
	case []any:
		if unique, _ := keywords["uniqueItems"].(bool); unique {
			m.steps += 8*values + bytes/64
		}
	}
}

// size counts the values in a value, and about its bytes as JSON. It stops beyond most values.
func size(v any, most int) (values, bytes int) {
	values = 1
	switch v := v.(type) {
	case string:
		return 1, len(v)
	case []any:
		for _, in := range v {
			n, b := size(in, most-values)
			values += n
			bytes += b
			if values > most {
				break
			}
		}
	case map[string]any:
		for name, in := range v {
			n, b := size(in, most-values)
			values += n
			bytes += len(name) + b
			if values > most {
				break
			}
		}
	}
	return values, bytes + 8
}
