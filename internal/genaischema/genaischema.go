// Package genaischema translates schemas of google.golang.org/genai to JSON schemas, for models and tools.
//
// A new field of genai.Schema: one line in ToJSON.
package genaischema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"
)

// ToJSON returns the JSON schema that says what Google's form of a schema says, nil for nil. A value that may be null
// gets the type null, too; the values of an enum of numbers, which Google has as text, become numbers.
func ToJSON(s *genai.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	j := &jsonschema.Schema{
		Title:         s.Title,
		Description:   s.Description,
		Pattern:       s.Pattern,
		Required:      s.Required,
		PropertyOrder: s.PropertyOrdering,
		Items:         ToJSON(s.Items),
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
		j.Default, _ = json.Marshal(s.Default) // what is not JSON is no default
	}
	if s.Example != nil {
		j.Examples = []any{s.Example}
	}
	for _, v := range s.Enum {
		j.Enum = append(j.Enum, enumValue(s.Type, v))
	}
	for _, of := range s.AnyOf {
		j.AnyOf = append(j.AnyOf, ToJSON(of))
	}
	if s.Properties != nil {
		j.Properties = map[string]*jsonschema.Schema{}
	}
	for name, property := range s.Properties {
		j.Properties[name] = ToJSON(property)
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
