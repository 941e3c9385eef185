package tool

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
)

// Keywords whose value is a schema, a list of schemas, or schemas by name; those among them that
// apply to the same value as the schema that has them; and the others that are checked.
var (
	single = []string{"items", "additionalItems", "additionalProperties", "contains", "contentSchema",
		"else", "if", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	lists = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	named = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties",
		"properties"}
	same = map[string]bool{"allOf": true, "anyOf": true, "dependencies": true,
		"dependentSchemas": true, "else": true, "if": true, "not": true, "oneOf": true, "then": true}
	assertions = []string{"type", "enum", "const", "multipleOf", "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "minItems",
		"maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties",
		"required", "dependentRequired"}
)

var types = map[string]bool{"null": true, "boolean": true, "integer": true, "number": true,
	"string": true, "array": true, "object": true}

// A reader makes the nodes of a document.
type reader struct {
	*document
	patterns int // instructions of all regular expressions
}

// visit makes the node of a schema, and those below it.
func (r *reader) visit(parent *node, in schemaStep, schema any, depth int) (*node, error) {
	n := &node{parent: parent, place: in, number: len(r.nodes), below: map[schemaStep]*node{}}
	if parent != nil {
		parent.below[in] = n
	}
	r.nodes = append(r.nodes, n)
	switch {
	case len(r.nodes) > maxSchemas:
		return nil, errTooManySchemas
	case depth > maxNesting:
		return nil, fmt.Errorf("%s is in more than %d other schemas, which is the most that is allowed", n, maxNesting)
	}
	switch v := schema.(type) {
	case bool:
		n.verdict = v
		return n, nil
	case map[string]any:
		n.keywords = v
	default:
		return nil, fmt.Errorf("not a JSON schema: %s is neither an object nor a boolean", n)
	}
	if err := r.check(n); err != nil {
		return nil, err
	}

	// The schemas in it.
	below := func(in schemaStep, sub any) (*node, error) {
		made, err := r.visit(n, in, sub, depth+1)
		if err == nil && same[in.keyword] {
			n.same = append(n.same, made)
		}
		return made, err
	}
	for _, k := range single {
		sub, has := n.keywords[k]
		if _, list := sub.([]any); !has || list && k == "items" {
			continue
		}
		if _, err := below(step(k), sub); err != nil {
			return nil, err
		}
	}
	for _, k := range lists {
		value, has := n.keywords[k]
		subs, ok := value.([]any)
		if has && !ok && k != "items" {
			return nil, fmt.Errorf("not a JSON schema: %s of %s is not a list", k, n)
		}
		for i, sub := range subs {
			if _, err := below(under(k, strconv.Itoa(i)), sub); err != nil {
				return nil, err
			}
		}
	}
	for _, k := range named {
		value, has := n.keywords[k]
		subs, ok := value.(map[string]any)
		if has && !ok {
			return nil, fmt.Errorf("not a JSON schema: %s of %s is not an object", k, n)
		}
		for name, sub := range subs {
			if _, list := sub.([]any); k == "dependencies" && list {
				continue
			}
			size := 0
			if k == "patternProperties" {
				var err error
				if size, err = r.pattern(n, name); err != nil {
					return nil, err
				}
				if size == 0 {
					delete(subs, name)
					continue
				}
			}
			made, err := below(under(k, name), sub)
			if err != nil {
				return nil, err
			}
			if size > 0 {
				n.patterns = append(n.patterns, pattern{names: regexp.MustCompile(name), size: size, node: made})
			}
		}
	}
	return n, nil
}

// check checks the keywords of a node that are no schemas and that the library does not check, or
// not well.
func (r *reader) check(n *node) error {
	if t, ok := n.keywords["type"]; ok {
		for _, t := range list(t) {
			if name, _ := t.(string); !types[name] {
				return fmt.Errorf("%s is of type %s; JSON has null, boolean, integer, number, string, array and object", n, short(fmt.Sprint(t)))
			}
		}
	}
	for _, k := range []string{"$ref", "title", "description", "$comment", "format"} {
		if v, ok := n.keywords[k]; ok {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("not a JSON schema: %s of %s is not a text", k, n)
			}
		}
	}
	for _, k := range []string{"$id", "$dynamicRef"} {
		if _, ok := n.keywords[k]; ok {
			return fmt.Errorf("%s has a %s, which is not supported below the top", n, k)
		}
	}
	if p, ok := n.keywords["pattern"].(string); ok {
		size, err := r.pattern(n, p)
		if err != nil {
			return err
		}
		n.text = size
		if size == 0 {
			delete(n.keywords, "pattern")
		}
	}
	return nil
}

// pattern returns how many instructions a regular expression has, about. It is 0 if it is none of
// Go's: then it is ignored. Too many are an error.
func (r *reader) pattern(n *node, text string) (int, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, nil
	}
	size := instructions(parsed)
	r.patterns += size
	switch {
	case size > maxPattern:
		return 0, fmt.Errorf("a regular expression of %s has about %d instructions; at most %d are allowed: repeat less, such as {1,100} in place of {1,1000}", n, size, maxPattern)
	case r.patterns > maxPatterns:
		return 0, fmt.Errorf("the regular expressions of the schema have more than %d instructions together, which is the most that is allowed; use fewer of them, or repeat less", maxPatterns)
	}
	return size, nil
}

// instructions returns about how many instructions a regular expression is compiled to.
func instructions(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, 1<<30)
}
