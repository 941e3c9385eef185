// Command reference writes docs/guardrail-reference.md, the reference of policy files, from their
// JSON Schema.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

func main() {
	file := flag.String("o", "", "the `file` to write")
	flag.Parse()
	text, err := page()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*file, []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}

const head = `# Policy files: reference

<!-- Generated from the JSON Schema of policies by "go generate ./plugins/guardrail/policy". Do not edit. -->

All keys of a policy file. [guardrail.md](guardrail.md) is the guide. ` + "`runner config schema --policy`" + ` writes the schema for editors.
`

// page returns the reference page.
func page() (string, error) {
	s, err := policy.Schema()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head)
	object(&b, "A policy", "", s)
	b.WriteString("\n## Types of personal data\n\nWhat `detect.pii` finds, and what an action can be given for:\n\n")
	for i, kind := range detect.PIITypes() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("`" + kind + "`")
	}
	b.WriteString(".\n")
	return b.String(), nil
}

// object writes the table of an object's keys, and those of the objects in it.
func object(b *strings.Builder, title, path string, s *jsonschema.Schema) {
	fmt.Fprintf(b, "\n## %s\n\n| key | value | |\n|---|---|---|\n", title)
	type inner struct {
		path   string
		schema *jsonschema.Schema
	}
	var objects []inner
	for _, name := range s.PropertyOrder {
		p := s.Properties[name]
		key := "`" + name + "`"
		if slices.Contains(s.Required, name) {
			key += " (required)"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", key, valueOf(p), p.Description)
		at := path + name
		switch {
		case len(p.Properties) > 0:
			objects = append(objects, inner{path: at, schema: p})
		case p.Items != nil && len(p.Items.Properties) > 0:
			objects = append(objects, inner{path: at + "[]", schema: p.Items})
		case p.AdditionalProperties != nil && len(p.AdditionalProperties.Properties) > 0:
			objects = append(objects, inner{path: at + ".*", schema: p.AdditionalProperties})
		}
	}
	for _, o := range objects {
		object(b, "`"+o.path+"`", o.path+".", o.schema)
	}
}

// valueOf says which values a key takes.
func valueOf(s *jsonschema.Schema) string {
	switch {
	case s.Const != nil:
		return words(*s.Const)
	case len(s.Enum) > 16: // a long list stands elsewhere
		return "one of the types"
	case len(s.Enum) > 0:
		return words(s.Enum...)
	case len(s.AnyOf) > 0 && s.Type == "": // of an object it says which keys go together
		var forms []string
		for _, form := range s.AnyOf {
			forms = append(forms, valueOf(form))
		}
		return strings.Join(forms, ", or ")
	}
	switch s.Type {
	case "array":
		if s.Items != nil && len(s.Items.Properties) > 0 {
			return "list of objects, below"
		}
		return "list: " + valueOf(s.Items)
	case "object":
		if s.AdditionalProperties != nil && len(s.Properties) == 0 {
			if len(s.AdditionalProperties.Properties) > 0 {
				return "object of objects, below"
			}
			return "object"
		}
		return "object, below"
	case "integer", "number":
		return "number"
	case "string":
		if s.Pattern != "" {
			return "duration"
		}
		return "text"
	case "boolean":
		return "true or false"
	}
	return "any"
}

func words(values ...any) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(list, ", ")
}
