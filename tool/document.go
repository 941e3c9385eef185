package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/genaischema"
)

// The bounds of a schema. Whoever writes a tool or a plugin may send one, so it may be hostile.
const (
	maxSchemaBytes = 1 << 20 // as JSON
	maxSchemas     = 5_000   // schemas in a schema
	maxNesting     = 100     // schemas around a schema
	maxWidth       = 10_000  // evaluations of one value, without those of the values in it
	maxChain       = 200     // schemas that lead one to the next for the same value
	maxPattern     = 10_000  // instructions of a compiled regular expression
	maxPatterns    = 100_000 // instructions of all of them
)

// A document is a JSON schema, read and compiled.
type document struct {
	version string  // the value of $schema; "" if it is no known draft
	nodes   []*node // all schemas in it; the first is the whole
	// compiled takes {GROUP: {NUMBER: value}} and checks the value against the node with that
	// number. So one compiled schema serves for each place in the schema.
	compiled *jsonschema.Resolved
}

// A node is a schema in a document.
type node struct {
	parent   *node      // the schema that it is in, nil for the whole
	place    schemaStep // where in its parent
	number   int
	keywords map[string]any // nil if the schema is true or false
	verdict  bool           // of a schema that is true or false

	below    map[schemaStep]*node
	ref      *node     // where $ref leads
	same     []*node   // those in it that apply to the same value
	patterns []pattern // of patternProperties
	text     int       // instructions of the regular expression for texts
	weight   int       // the steps of an evaluation, whatever the value
	numeric  int       // those of an evaluation of a number, besides
	measured bool      // the letters of a text are counted

	spread bool // width and chain are set
	onPath bool // spread is at a node that this one leads to
	width  int  // evaluations of a value, at most, without those of the values in it
	chain  int  // the longest way through schemas for the same value
}

// A schemaStep is where a schema is in another: at a keyword, or at a name or an index below one.
type schemaStep struct {
	keyword string
	name    string
	named   bool // there is a name, which may be ""
}

func step(keyword string) schemaStep { return schemaStep{keyword: keyword} }

func under(keyword, name string) schemaStep {
	return schemaStep{keyword: keyword, name: name, named: true}
}

// A pattern is a key of patternProperties.
type pattern struct {
	names *regexp.Regexp
	size  int // instructions
	node  *node
}

// parse reads a schema and all schemas in it, and compiles it.
func parse(schema any) (*document, error) {
	if s, ok := schema.(*genai.Schema); ok {
		schema = genaischema.ToJSON(s)
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("not a JSON schema: %w", err)
	}
	if len(data) > maxSchemaBytes {
		return nil, fmt.Errorf("the schema has %d bytes; at most %d are allowed", len(data), maxSchemaBytes)
	}
	var whole any
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	d := &document{}
	if root, ok := whole.(map[string]any); ok {
		d.version, _ = root["$schema"].(string)
		delete(root, "$schema")
		delete(root, "$id")
		if !drafts[d.version] {
			d.version = ""
		}
	}
	r := &reader{document: d}
	if _, err := r.visit(nil, schemaStep{}, whole, 0); err != nil {
		return nil, err
	}
	for _, n := range d.nodes {
		if err := r.follow(n); err != nil {
			return nil, err
		}
	}
	for _, n := range d.nodes {
		if err := d.spread(n); err != nil {
			return nil, err
		}
	}
	return d, d.compile()
}

const draft7 = "http://json-schema.org/draft-07/schema#"

// drafts are those that are known to the library.
var drafts = map[string]bool{
	draft7: true,
	"https://json-schema.org/draft-07/schema#":     true,
	"https://json-schema.org/draft/2020-12/schema": true,
}

// isDraft7 reports whether the schema is of draft 7, in which $ref hides what stands beside it.
func (d *document) isDraft7() bool { return strings.Contains(d.version, "draft-07") }

// root returns the keywords of the whole schema, nil if it is a boolean.
func (d *document) root() map[string]any { return d.nodes[0].keywords }

// spread sets how many evaluations one value may cost a node and what it leads to. It returns an
// error if there are too many, or if a schema leads back to itself without going into the value:
// then a check would never end.
func (d *document) spread(n *node) error {
	if n.onPath {
		return fmt.Errorf("%s refers to itself in a circle", n)
	}
	if n.spread {
		return nil
	}
	n.onPath = true
	n.width = 1
	for _, to := range n.leads() {
		if err := d.spread(to); err != nil {
			return err
		}
		n.width = min(n.width+to.width, maxWidth+1)
		n.chain = max(n.chain, to.chain+1)
	}
	n.onPath = false
	n.spread = true
	switch {
	case n.width > maxWidth:
		return fmt.Errorf("to check one value against %s takes more than %d evaluations of schemas, which is the most that is allowed; use fewer allOf, anyOf, oneOf and $ref within each other", n, maxWidth)
	case n.chain > maxChain:
		return fmt.Errorf("%s leads through more than %d schemas for the same value, which is the most that is allowed; use fewer allOf, anyOf, oneOf and $ref within each other", n, maxChain)
	}
	return nil
}

// leads returns the schemas that a schema applies to the same value.
func (n *node) leads() []*node {
	if n.ref == nil {
		return n.same
	}
	return append([]*node{n.ref}, n.same...)
}

// numericSteps are the steps that keywords take for a number. The library makes fractions of both
// numbers, which may have 300 digits, and multipleOf divides one by the other.
var numericSteps = map[string]int{
	"multipleOf": 32, "minimum": 4, "maximum": 4, "exclusiveMinimum": 4, "exclusiveMaximum": 4,
}

// group is how many nodes one part of the compiled schema has.
const group = 64

// compile compiles the document. Each schema is a definition of its own, and schemas in it are
// references: the library keeps and prints the place of each schema, and reads what is in a schema
// again for each schema around it. Only the keywords that the library checks are compiled.
func (d *document) compile() error {
	definitions := make(map[string]any, len(d.nodes))
	groups := map[string]any{}
	for i, n := range d.nodes {
		flat, err := json.Marshal(d.flat(n))
		if err != nil {
			return err
		}
		n.weight = 1 + len(flat)/128
		for _, k := range []string{"enum", "const"} {
			if values, ok := n.keywords[k]; ok {
				n.weight += len(text(values)) / 8
			}
		}
		for k, steps := range numericSteps {
			if _, ok := n.keywords[k]; ok {
				n.numeric += steps
			}
		}
		_, least := n.keywords["minLength"]
		_, most := n.keywords["maxLength"]
		n.measured = least || most
		definitions[strconv.Itoa(i)] = json.RawMessage(flat)
		in, _ := groups[strconv.Itoa(i/group)].(map[string]any)
		if in == nil {
			in = map[string]any{}
			groups[strconv.Itoa(i/group)] = map[string]any{"properties": in}
		} else {
			in = in["properties"].(map[string]any)
		}
		in[strconv.Itoa(i)] = n.reference()
	}
	whole := map[string]any{"$defs": definitions, "properties": groups}
	if d.version != "" {
		whole["$schema"] = d.version
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("not a JSON schema: %w", err)
	}
	d.compiled, err = s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("not a JSON schema: %w", err)
	}
	return nil
}

// reference returns a schema that says what the node says.
func (n *node) reference() any {
	if n.keywords == nil {
		return n.verdict
	}
	return map[string]any{"$ref": "#/$defs/" + strconv.Itoa(n.number)}
}

// flat returns a node's schema with references in place of the schemas in it.
func (d *document) flat(n *node) any {
	if n.keywords == nil {
		return n.verdict
	}
	flat := map[string]any{}
	for _, k := range assertions {
		if v, ok := n.keywords[k]; ok {
			flat[k] = v
		}
	}
	if n.ref != nil {
		flat["$ref"] = "#/$defs/" + strconv.Itoa(n.ref.number)
	}
	for _, k := range single {
		if sub := n.below[step(k)]; sub != nil && k != "contentSchema" {
			flat[k] = sub.reference()
		}
	}
	for _, k := range lists {
		subs, ok := n.keywords[k].([]any)
		if !ok {
			continue
		}
		list := make([]any, len(subs))
		for i := range subs {
			list[i] = n.below[under(k, strconv.Itoa(i))].reference()
		}
		flat[k] = list
	}
	for _, k := range named {
		subs, ok := n.keywords[k].(map[string]any)
		if !ok || k == "$defs" || k == "definitions" {
			continue
		}
		object := make(map[string]any, len(subs))
		for name, sub := range subs {
			object[name] = sub // a list of names, of dependencies
			if made := n.below[under(k, name)]; made != nil {
				object[name] = made.reference()
			}
		}
		flat[k] = object
	}
	if d.isDraft7() {
		delete(flat, "unevaluatedItems") // draft 7 does not have them
		delete(flat, "unevaluatedProperties")
	}
	return flat
}

// validate compares a value with a node, and returns what the library says.
func (d *document) validate(n *node, value any) error {
	in := map[string]any{strconv.Itoa(n.number): value}
	return d.compiled.Validate(map[string]any{strconv.Itoa(n.number / group): in})
}

// String names the node in an error: its JSON pointer, cut to its end if it is long.
func (n *node) String() string {
	const most = 200
	pointer := ""
	for in := n; in.parent != nil && len(pointer) <= most; in = in.parent {
		step := "/" + in.place.keyword
		if in.place.named {
			step += "/" + escape(in.place.name)
		}
		pointer = step + pointer
	}
	switch {
	case pointer == "":
		return "the whole"
	case len(pointer) > most:
		return "…" + strings.ToValidUTF8(pointer[len(pointer)-most:], "")
	}
	return pointer
}

// find returns the node at a JSON pointer, nil if there is none.
func (d *document) find(pointer string) *node {
	found := d.nodes[0]
	for pointer != "" && found != nil {
		keyword, rest := segment(pointer)
		next := found.below[step(keyword)]
		if next == nil && rest != "" {
			var name string
			name, rest = segment(rest)
			next = found.below[under(keyword, name)]
		}
		found = next
		pointer = rest
	}
	return found
}

// segment returns the first name of a JSON pointer, and the rest.
func segment(pointer string) (name, rest string) {
	name = pointer[1:]
	if slash := strings.IndexByte(name, '/'); slash >= 0 {
		rest = name[slash:]
		name = name[:slash]
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name), rest
}

// follow sets where the $ref of a node leads.
func (r *reader) follow(n *node) error {
	ref, ok := n.keywords["$ref"].(string)
	if !ok {
		return nil
	}
	to, local := strings.CutPrefix(ref, "#")
	to, err := url.PathUnescape(to)
	if !local || err != nil || to != "" && to[0] != '/' {
		return fmt.Errorf("%s refers to %q; only references within the schema, such as #/$defs/name, are followed", n, short(ref))
	}
	n.ref = r.find(to)
	if n.ref == nil {
		return fmt.Errorf("it refers to #%s, and there is no schema there", short(to))
	}
	return nil
}

// short returns the beginning of a text for an error.
func short(text string) string {
	if len(text) > maxProblem {
		return strings.ToValidUTF8(text[:maxProblem], "") + "…"
	}
	return text
}

// list returns v if it is a list, and otherwise a list with v.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

var errTooManySchemas = errors.New("the schema has more than " + strconv.Itoa(maxSchemas) + " schemas in it; at most that many are allowed")
