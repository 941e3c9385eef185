package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"
)

// schemaOf returns a JSON schema that is given in one of two ways, nil if it is in neither.
func schemaOf(inJSON any, s *genai.Schema) (json.RawMessage, error) {
	if inJSON != nil && s != nil {
		return nil, errors.New("it is given twice, as a JSON schema and as Google's; give one")
	}
	if inJSON == nil {
		if s == nil {
			return nil, nil
		}
		inJSON = jsonSchema(s)
	}
	return toJSON(inJSON)
}

func toJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// jsonSchema translates Google's form of a schema.
func jsonSchema(s *genai.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	j := &jsonschema.Schema{
		Title:         s.Title,
		Description:   s.Description,
		Pattern:       s.Pattern,
		Required:      s.Required,
		PropertyOrder: s.PropertyOrdering,
		Items:         jsonSchema(s.Items),
		Minimum:       s.Minimum,
		Maximum:       s.Maximum,
		MinItems:      count(s.MinItems),
		MaxItems:      count(s.MaxItems),
		MinLength:     count(s.MinLength),
		MaxLength:     count(s.MaxLength),
		MinProperties: count(s.MinProperties),
		MaxProperties: count(s.MaxProperties),
	}
	if s.Type != "" && s.Type != genai.TypeUnspecified {
		j.Type = strings.ToLower(string(s.Type))
	}
	if s.Format != "enum" { // which only says that there is an enum
		j.Format = s.Format
	}
	if s.Default != nil {
		j.Default, _ = toJSON(s.Default) // what is not JSON is no default
	}
	if s.Example != nil {
		j.Examples = []any{s.Example}
	}
	for _, v := range s.Enum {
		j.Enum = append(j.Enum, enumValue(s.Type, v))
	}
	for _, of := range s.AnyOf {
		j.AnyOf = append(j.AnyOf, jsonSchema(of))
	}
	if s.Properties != nil {
		j.Properties = map[string]*jsonschema.Schema{}
	}
	for name, property := range s.Properties {
		j.Properties[name] = jsonSchema(property)
	}
	if s.Nullable != nil && *s.Nullable {
		nullable(j)
	}
	return j
}

// nullable lets null be a value too.
func nullable(j *jsonschema.Schema) {
	if j.Type != "" && j.Type != "null" {
		j.Types = []string{j.Type, "null"}
		j.Type = ""
	}
	if len(j.Enum) > 0 && !slices.Contains(j.Enum, nil) {
		j.Enum = append(j.Enum, nil)
	}
	if len(j.AnyOf) > 0 {
		j.AnyOf = append(j.AnyOf, &jsonschema.Schema{Type: "null"})
	}
}

// enumValue returns a value of an enum, which Google's schemas have as text, whatever its type.
func enumValue(t genai.Type, text string) any {
	if t == genai.TypeInteger || t == genai.TypeNumber {
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return json.Number(text)
		}
	}
	return text
}

func count(n *int64) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}
