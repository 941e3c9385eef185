package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// A step takes about a microsecond.
const (
	// maxSteps bounds the check of one value, and what is done to explain why it does not fit.
	maxSteps = 1_000_000
	// briefSteps is how many the caller's goroutine takes itself.
	briefSteps = 10_000
)

var errSteps = errors.New("the check against the schema would take more than the " + strconv.Itoa(maxSteps) +
	" steps that are allowed; pass less, or less deeply nested, or use a simpler schema")

// A value is a JSON value, measured.
type value struct {
	plain  any // as the library takes it
	bytes  int // about as JSON
	count  int // of values in it, and itself
	object map[string]*value
	list   []*value
}

// read measures a JSON value. A json.Number becomes a Go number: the library takes one for a text.
func read(v any) (*value, error) {
	made := &value{plain: v, bytes: 8, count: 1}
	switch v := v.(type) {
	case nil, bool, float64, int64, int:
	case string:
		made.bytes = len(v) + 2
	case json.Number:
		if i, err := v.Int64(); err == nil {
			made.plain = i
			break
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is beyond what can be checked, about 1.8e308", short(v.String()))
		}
		made.plain = f
	case map[string]any:
		copied := make(map[string]any, len(v))
		made.object = make(map[string]*value, len(v))
		for name, x := range v {
			in, err := read(x)
			if err != nil {
				return nil, err
			}
			copied[name] = in.plain
			made.object[name] = in
			made.bytes += len(name) + 4 + in.bytes
			made.count += in.count
		}
		made.plain = copied
	case []any:
		copied := make([]any, len(v))
		made.list = make([]*value, len(v))
		for i, x := range v {
			in, err := read(x)
			if err != nil {
				return nil, err
			}
			copied[i] = in.plain
			made.list[i] = in
			made.bytes += 1 + in.bytes
			made.count += in.count
		}
		made.plain = copied
	default: // made in Go
		data, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("no JSON: %w", err)
		}
		var again any
		if err := json.Unmarshal(data, &again); err != nil {
			return nil, fmt.Errorf("no JSON: %w", err)
		}
		return read(again)
	}
	return made, nil
}

// A meter counts the steps of a check before the library makes it, since the library cannot be
// stopped. It goes the ways that the library goes, or more.
type meter struct {
	*document
	ctx    context.Context
	steps  int // so far
	visits int
}

// A failure is the most that it costs if a value does not fit, in bytes: the length of the error,
// and what is copied until it is as long. The library writes the value into its error, and copies
// the text once for each schema around the one that does not fit.
type failure struct{ text, copied int }

// of takes in the failure of a schema within: one of them fails at most, since the first one ends
// the evaluation.
func (f *failure) of(within failure) {
	text := within.text + 32 // the place of the schema
	f.text = max(f.text, text)
	f.copied = max(f.copied, within.copied+text)
}

// forgiving are the keywords whose schemas may fail without an end to the evaluation.
var forgiving = map[string]bool{"anyOf": true, "oneOf": true, "not": true, "if": true}

// evaluate counts the steps of one evaluation and those below it, and returns what its failure
// would cost. It ends as measure does.
func (m *meter) evaluate(n *node, v *value) (failure, error) {
	m.steps += n.weight + (len(v.object)+len(v.list))/8
	switch plain := v.plain.(type) {
	case string:
		m.steps += len(plain) * n.text / 64
		if n.measured {
			m.steps += len(plain) / 256
		}
	case float64, int64, int:
		m.steps += n.numeric
	}
	m.visits++
	f := failure{text: 100 + v.bytes + 128*n.weight}
	f.copied = f.text
	switch {
	case m.steps > maxSteps:
		return f, errSteps
	case m.visits%1024 == 1 && m.ctx.Err() != nil:
		return f, context.Cause(m.ctx)
	case n.keywords == nil:
		return f, nil
	}

	// The same value.
	if n.ref != nil {
		within, err := m.evaluate(n.ref, v)
		f.of(within)
		if err != nil || m.isDraft7() {
			return f, err
		}
	}
	if t, ok := n.keywords["type"]; ok && !admits(t, v.plain) {
		return f, nil
	}
	all := failure{} // of anyOf, whose error has those of its schemas
	for _, to := range n.same {
		k := to.place.keyword
		if (k == "dependencies" || k == "dependentSchemas") && v.object[to.place.name] == nil {
			continue
		}
		within, err := m.evaluate(to, v)
		if err != nil {
			return f, err
		}
		if forgiving[k] {
			m.fail(within)
		} else {
			f.of(within)
		}
		if k == "anyOf" {
			all.text += within.text + 32
			all.copied = 2 * all.text
		}
	}
	f.of(all)

	// The values in it.
	below := func(to *node, v *value) error {
		if to == nil {
			return nil
		}
		within, err := m.evaluate(to, v)
		if to.place.keyword == "contains" {
			m.fail(within)
		} else {
			f.of(within)
		}
		return err
	}
	if unique, _ := n.keywords["uniqueItems"].(bool); unique && v.list != nil {
		m.steps += 8*v.count + v.bytes/256
	}
	for i, item := range v.list {
		to := m.item(n, i)
		err := below(to, item)
		if err == nil {
			err = below(n.below[step("contains")], item)
		}
		if err == nil && to == nil {
			err = below(n.below[step("unevaluatedItems")], item)
		}
		if err != nil {
			return f, err
		}
	}
	for name, in := range v.object {
		known := n.below[under("properties", name)]
		err := below(known, in)
		evaluated := known != nil
		for _, p := range n.patterns {
			m.steps += (len(name) + 1) * p.size / 64
			if m.steps > maxSteps {
				return f, errSteps
			}
			if err == nil && p.names.MatchString(name) {
				err = below(p.node, in)
				evaluated = true
			}
		}
		if err == nil && !evaluated {
			err = below(n.below[step("additionalProperties")], in)
		}
		if err == nil && !evaluated {
			err = below(n.below[step("unevaluatedProperties")], in)
		}
		if names := n.below[step("propertyNames")]; err == nil && names != nil {
			err = below(names, &value{plain: name, bytes: len(name) + 2, count: 1})
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// fail counts a failure.
func (m *meter) fail(f failure) { m.steps += f.copied / 128 }

// measure counts what it takes to compare a value with a node. It returns errSteps if that is too
// much, or why the context has ended.
func (m *meter) measure(n *node, v *value) error {
	f, err := m.evaluate(n, v)
	m.fail(f)
	if err == nil && m.steps > maxSteps {
		err = errSteps
	}
	return err
}

// item returns the schema of a list's item, nil if there is none.
func (d *document) item(n *node, i int) *node {
	own, rest := "prefixItems", "items"
	if _, tuple := n.keywords["items"].([]any); tuple && d.isDraft7() {
		own, rest = "items", "additionalItems"
	}
	to := n.below[under(own, strconv.Itoa(i))]
	if to == nil {
		to = n.below[step(rest)]
	}
	return to
}
