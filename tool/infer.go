package tool

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// A schemer says of its type what values it takes.
type schemer interface{ JSONSchema() *jsonschema.Schema }

var (
	schemerType     = reflect.TypeFor[schemer]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
	timeType        = reflect.TypeFor[time.Time]()
)

// infer returns the schema of a struct, nil if it has no fields. It says what encoding/json reads,
// in words that every provider takes: no null (Gemini refuses ["null","array"] in some places; a
// model without a value leaves the parameter out), and not the schema true, which allows any value.
func infer(t reflect.Type) (*jsonschema.Schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("they are of type %s; a model passes arguments by name, so use a struct", t)
	}
	if p := reflect.PointerTo(t); p.Implements(unmarshalerType) && !p.Implements(schemerType) {
		return nil, fmt.Errorf("%s decodes JSON with a method of its own; add a method JSONSchema() *jsonschema.Schema that describes what it takes", t)
	}
	i := inference{schemas: map[reflect.Type]*jsonschema.Schema{}, seen: map[reflect.Type]bool{}}
	if err := i.visit(t); err != nil {
		return nil, err
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: i.schemas})
	if err != nil {
		return nil, err
	}
	if len(s.Properties) == 0 {
		return nil, nil
	}
	plain(s)
	return s, nil
}

// inference has the schemas of types that the library would infer wrong.
type inference struct {
	schemas map[reflect.Type]*jsonschema.Schema
	seen    map[reflect.Type]bool
}

func (i *inference) visit(t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if i.seen[t] {
		return nil
	}
	i.seen[t] = true
	pointer := reflect.PointerTo(t)
	switch {
	case pointer.Implements(schemerType):
		s := reflect.New(t).Interface().(schemer).JSONSchema()
		if s == nil {
			return fmt.Errorf("JSONSchema of %s returns nil", t)
		}
		i.schemas[t] = s
	case t == timeType:
		i.schemas[t] = &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t.PkgPath() == "math/big" || t.PkgPath() == "log/slog": // the library knows them
	case pointer.Implements(unmarshalerType):
		i.schemas[t] = &jsonschema.Schema{}
	case pointer.Implements(textType):
		i.schemas[t] = &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		i.schemas[t] = &jsonschema.Schema{Type: "string", Description: "base64"}
	case t.Kind() == reflect.Interface && t.NumMethod() > 0:
		return fmt.Errorf("%s is an interface with methods, and JSON does not say what to make of it", t)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map:
		return i.visit(t.Elem())
	case t.Kind() == reflect.Struct:
		return i.fields(t)
	}
	return nil
}

func (i *inference) fields(t reflect.Type) error {
	for n := range t.NumField() {
		f := t.Field(n)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		embedded := f.Type
		for embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		if f.Anonymous && (name != "" || embedded.Kind() != reflect.Struct) {
			return fmt.Errorf("%s.%s is embedded and a parameter of its own; give the field a name", t, f.Name)
		}
		if err := i.visit(f.Type); err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
	}
	return nil
}

// plain takes null out of a schema, and leaves a parameter that may have been null to be left out.
func plain(s *jsonschema.Schema) {
	var required []string
	for _, name := range s.Required {
		// a slice is no pointer
		if !null(s.Properties[name]) || slices.Contains(s.Properties[name].Types, "array") {
			required = append(required, name)
		}
	}
	s.Required = required
	for _, p := range s.Properties {
		plain(p)
	}
	for _, below := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if below != nil {
			plain(below)
		}
	}
	if null(s) {
		s.Types = s.Types[1:]
		if len(s.Types) == 1 {
			s.Type = s.Types[0]
		}
		if len(s.Types) < 2 {
			s.Types = nil
		}
	}
	if data, err := json.Marshal(s); err == nil && string(data) == "true" {
		s.Description = "any JSON value"
	}
}

// null reports whether the library has added null to the schema's types.
func null(s *jsonschema.Schema) bool { return s != nil && len(s.Types) > 0 && s.Types[0] == "null" }
