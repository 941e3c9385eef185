package tool

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"
)

// JSONSchema returns the JSON schema that says what a genai.Schema says, nil for nil.
func JSONSchema(g *genai.Schema) *jsonschema.Schema {
	if g == nil {
		return nil
	}
	s := &jsonschema.Schema{
		Title:         g.Title,
		Description:   g.Description,
		Format:        g.Format,
		Pattern:       g.Pattern,
		Minimum:       g.Minimum,
		Maximum:       g.Maximum,
		Required:      g.Required,
		PropertyOrder: g.PropertyOrdering,
		MinLength:     size(g.MinLength),
		MaxLength:     size(g.MaxLength),
		MinItems:      size(g.MinItems),
		MaxItems:      size(g.MaxItems),
		MinProperties: size(g.MinProperties),
		MaxProperties: size(g.MaxProperties),
		Items:         JSONSchema(g.Items),
	}
	if data, err := json.Marshal(g.Default); err == nil && g.Default != nil {
		s.Default = data
	}
	for _, alternative := range g.AnyOf {
		s.AnyOf = append(s.AnyOf, JSONSchema(alternative))
	}
	for name, property := range g.Properties {
		if s.Properties == nil {
			s.Properties = map[string]*jsonschema.Schema{}
		}
		s.Properties[name] = JSONSchema(property)
	}
	if g.Type != "" && g.Type != genai.TypeUnspecified {
		s.Type = strings.ToLower(string(g.Type))
	}
	for _, e := range g.Enum { // texts, whatever the type
		n, err := strconv.ParseFloat(e, 64)
		if err == nil && (s.Type == "integer" || s.Type == "number") {
			s.Enum = append(s.Enum, n)
		} else {
			s.Enum = append(s.Enum, e)
		}
	}
	if g.Nullable != nil && *g.Nullable {
		s = &jsonschema.Schema{Description: s.Description, AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	return s
}

func size(n *int64) *int {
	if n == nil {
		return nil
	}
	return jsonschema.Ptr(int(*n))
}
