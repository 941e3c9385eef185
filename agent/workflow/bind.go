package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A binding says where the parameters of a function come from.
type binding struct {
	whole  parameter   // the input as a whole, if there are no fields
	fields []parameter // of a struct with state tags
}

// A parameter is what a function gets from the input or from a state key.
type parameter struct {
	name     string // the state key, or nodeInput
	index    []int  // the field, nil for the whole
	optional bool
	nothing  bool // it takes nothing: a struct without fields
	schema   *jsonschema.Schema
	fits     func(ctx context.Context, value any) error // nil if the type says it all
}

// failureSchema is that of what an edge with the route Failed leads on.
var failureSchema, _ = schemaOf(reflect.TypeFor[Failure]())

// nodeInput is the name of the output of the node before.
const nodeInput = "node_input"

var contentType = reflect.TypeFor[genai.Content]()

// newBinding reads the tags of a type.
func newBinding(t reflect.Type) (*binding, error) {
	b := &binding{}
	if t.Kind() == reflect.Struct && t != contentType {
		for _, f := range reflect.VisibleFields(t) {
			tag, ok := f.Tag.Lookup("state")
			if !ok {
				continue
			}
			name, option, _ := strings.Cut(tag, ",")
			switch {
			case !f.IsExported():
				return b, fmt.Errorf("the field %s has a state tag and is not exported", f.Name)
			case name == "":
				return b, fmt.Errorf("the state tag of the field %s names no key", f.Name)
			case option != "" && option != "omitempty":
				return b, fmt.Errorf("the state tag of the field %s has the option %q; there is only omitempty", f.Name, option)
			}
			p, err := newParameter(name, f.Type)
			if err != nil {
				return b, err
			}
			p.index = f.Index
			p.optional = p.optional || option == "omitempty"
			b.fields = append(b.fields, p)
		}
	}
	if b.fields != nil {
		return b, nil
	}
	whole, err := newParameter(nodeInput, t)
	b.whole = whole
	b.whole.nothing = t.Kind() == reflect.Struct && t.NumField() == 0
	return b, err
}

func newParameter(name string, t reflect.Type) (parameter, error) {
	p := parameter{name: name, optional: t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface}
	base := withoutPointers(t)
	if base == contentType || t.Kind() == reflect.Interface {
		return p, nil
	}
	var err error
	p.schema, err = schemaOf(t)
	switch base.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		if err == nil {
			p.fits, err = tool.Schema(p.schema)
		}
	}
	if err != nil {
		return p, fmt.Errorf("the parameter %q: %w", name, err)
	}
	return p, nil
}

// withoutPointers returns the type that a pointer leads to, or the type itself.
func withoutPointers(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// input returns the schema of what the node before hands over, nil if anything fits.
func (b *binding) input() *jsonschema.Schema {
	for _, f := range b.fields {
		if f.name == nodeInput {
			return f.schema
		}
	}
	if b.fields != nil || b.whole.nothing {
		return nil
	}
	return b.whole.schema
}

// bind makes a function's parameters of the input and the state.
func bind[In any](b *binding, t *task) (in In, err error) {
	if b.fields == nil {
		if b.whole.nothing {
			return in, nil
		}
		if typed, ok := t.input.(In); ok && b.whole.fits == nil { // nothing to convert
			return typed, nil
		}
		return in, b.whole.set(reflect.ValueOf(&in).Elem(), t.input)
	}
	state := t.host.Now().State
	v := reflect.ValueOf(&in).Elem()
	var wrong []error
	for _, f := range b.fields {
		value := t.input
		if f.name != nodeInput {
			value = state[f.name]
		}
		wrong = append(wrong, f.set(v.FieldByIndex(f.index), value))
	}
	return in, errors.Join(wrong...)
}

// set sets a parameter to a value. The error names the parameter.
func (p *parameter) set(to reflect.Value, value any) error {
	switch {
	case value == nil && p.optional:
		return nil
	case value == nil && p.name == nodeInput:
		return fmt.Errorf("the parameter %q is missing: the node before has no output", p.name)
	case value == nil:
		return fmt.Errorf("the parameter %q is missing: the state has no such key", p.name)
	}
	if err := convert(to, value, p.fits); err != nil {
		return fmt.Errorf("the parameter %q does not fit: %w", p.name, err)
	}
	return nil
}

// convert sets a variable to a JSON value, or to a content.
func convert(to reflect.Value, value any, fits func(context.Context, any) error) error {
	t := withoutPointers(to.Type())

	// A content is itself, its text, or what its text says.
	if content, ok := value.(*genai.Content); ok {
		if t == contentType {
			for to.Kind() == reflect.Pointer && to.Type().Elem() != contentType {
				to.Set(reflect.New(to.Type().Elem()))
				to = to.Elem()
			}
			if to.Kind() == reflect.Pointer {
				to.Set(reflect.ValueOf(content))
			} else {
				to.Set(reflect.ValueOf(*content))
			}
			return nil
		}
		value = (&session.Event{Content: content}).Text()
	}
	if text, ok := value.(string); ok {
		switch {
		case t == contentType:
			return convert(to, genai.NewContentFromText(text, genai.RoleUser), nil)
		case t.Kind() == reflect.Struct || t.Kind() == reflect.Map || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
			if parsed, err := session.DecodeValue([]byte(text)); err == nil {
				value = parsed
			}
		}
	}
	if fits != nil {
		if err := fits(context.Background(), value); err != nil {
			return err
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	err = json.Unmarshal(data, to.Addr().Interface())
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return fmt.Errorf("it is %s, and must be of type %s", short(data), wrongType.Type)
	}
	return err
}

// plain returns a value as JSON values, as a store gives it back: nil for a nil pointer or map, and for
// an empty struct.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool, float64:
		return v, nil
	case int:
		if v > -1<<53 && v < 1<<53 {
			return float64(v), nil
		}
	case struct{}:
		return nil, nil
	case *genai.Content:
		if v == nil {
			return nil, nil
		}
		return (&session.Event{Content: v}).Text(), nil
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice:
		if r.IsNil() {
			return []any{}, nil // no items are an output, too
		}
	case reflect.Pointer, reflect.Map:
		if r.IsNil() {
			return nil, nil
		}
	case reflect.Struct:
		if r.NumField() == 0 {
			return nil, nil
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("it cannot be written as JSON: %w", err)
	}
	return session.DecodeValue(data)
}

// schemas of types, by type.
var schemas sync.Map

// schemaOf returns the schema of a type: nil if anything fits. It takes objects with more than the
// known properties, since who reads one does not need them all.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	if known, ok := schemas.Load(t); ok {
		return known.(*jsonschema.Schema), nil
	}
	base := withoutPointers(t)
	if base.Kind() == reflect.Interface || base == contentType {
		return nil, nil
	}
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, err
	}
	open(s)
	schemas.Store(t, s)
	return s, nil
}

// open lets objects have more properties than the schema names.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		open(p)
	}
	open(s.Items)
	open(s.AdditionalProperties)
}

// misfit says why no value of one schema fits another; "" if one may. path is where in the values.
func misfit(output, input *jsonschema.Schema, path string) string {
	if output == nil || input == nil {
		return ""
	}
	in := types(input)
	out := types(output)
	if len(in) > 0 && len(out) > 0 && !slices.ContainsFunc(out, func(t string) bool { return takes(in, t) }) {
		return fmt.Sprintf("%s is of type %s, and must be of type %s", valueAt(path), strings.Join(out, " or "), strings.Join(in, " or "))
	}
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		given, ok := output.Properties[name]
		if !ok && len(output.Properties) > 0 && slices.Contains(input.Required, name) {
			return fmt.Sprintf("%s has no %s", valueAt(path), name)
		}
		if ok {
			if why := misfit(given, input.Properties[name], path+"/"+name); why != "" {
				return why
			}
		}
	}
	return misfit(output.Items, input.Items, path+"/0")
}

// valueAt names the value at a path, for an error.
func valueAt(path string) string {
	if path == "" {
		return "it"
	}
	return path
}

// types returns the types that a schema allows, null left out.
func types(s *jsonschema.Schema) []string {
	all := s.Types
	if s.Type != "" {
		all = []string{s.Type}
	}
	return slices.DeleteFunc(slices.Clone(all), func(t string) bool { return t == "null" })
}

// takes reports whether one of the types may take a value of another.
func takes(in []string, t string) bool {
	return slices.ContainsFunc(in, func(i string) bool {
		numbers := (i == "number" || i == "integer") && (t == "number" || t == "integer")
		return i == t || numbers
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func inJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return short(data)
}

// short returns the beginning of a text.
func short(text []byte) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}
