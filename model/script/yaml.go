package script

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep values may be inside of one another: the parser's memory grows with the square.
const maxDepth = 100

// tooDeep returns the token that is deeper, nil if none is. Indentation needs no look: it grows the file as fast.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, line, inLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position == nil {
			continue
		}
		if t.Position.Line != line {
			line, inLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType: // "- - - x"
			inLine++
		}
		if flow > maxDepth || inLine > maxDepth {
			return t
		}
	}
	return nil
}

// parse reads a script, and returns an error for each rule that cannot be.
func parse(name string, data []byte) ([]*rule, error) {
	if t := tooDeep(lexer.Tokenize(string(data))); t != nil {
		return nil, fmt.Errorf("%s:%d:%d: more than %d values inside of one another", name, t.Position.Line, t.Position.Column, maxDepth)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, placed(name, err)
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool {
		return d.Body == nil || d.Body.Type() == ast.CommentType || d.Body.Type() == ast.NullType
	})
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s:1:1: the script has no rules", name)
	}
	if len(docs) > 1 {
		return nil, placed(name, fault(docs[1].Body, "a second document; a script is one"))
	}
	var odd refused
	if ast.Walk(&odd, docs[0].Body); odd.node != nil {
		return nil, placed(name, fault(odd.node, "anchors, aliases and tags are not supported; write out what they stand for"))
	}
	list, ok := docs[0].Body.(*ast.SequenceNode)
	if !ok {
		return nil, placed(name, fault(docs[0].Body, "a script is a list of rules"))
	}
	var rules []*rule
	var errs []error
	for _, item := range list.Values {
		r := &rule{at: place(start(item))}
		if err := decode(item, r); err != nil {
			errs = append(errs, placed(name, err))
		} else if err := r.check(); err != nil {
			errs = append(errs, placed(name, fault(item, "%w", err)))
		}
		rules = append(rules, r)
	}
	if len(rules) == 0 {
		errs = append(errs, fmt.Errorf("%s:1:1: the script has no rules", name))
	}
	return rules, errors.Join(errs...)
}

// decode fills a struct with the keys of a node: with those that it has, each with a value.
func decode(n ast.Node, into any) error {
	m, ok := n.(ast.MapNode)
	if !ok {
		return fault(n, "keys and values are wanted here")
	}
	var known []string
	for f := range reflect.TypeOf(into).Elem().Fields() {
		if key := f.Tag.Get("yaml"); key != "" {
			known = append(known, key)
		}
	}
	for i := m.MapRange(); i.Next(); {
		key := i.Key().GetToken()
		if !slices.Contains(known, key.Value) {
			return &yaml.SyntaxError{Token: key, Message: fmt.Sprintf("unknown key %q%s", key.Value, meant(key.Value, known))}
		}
		if i.Value().Type() == ast.NullType {
			return &yaml.SyntaxError{Token: key, Message: fmt.Sprintf("%s has no value", key.Value)}
		}
	}
	return yaml.NodeToValue(n, into)
}

// meant is a hint at the word that was meant, or else at all there are.
func meant(word string, words []string) string {
	best, least := "", 3
	for _, w := range words {
		if d := levenshtein.Distance(strings.ToLower(word), w, nil); d < least && d < len(w) {
			best, least = w, d
		}
	}
	if best == "" {
		return "; there are " + strings.Join(words, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// fault is an error about what begins at a node.
func fault(n ast.Node, format string, args ...any) error {
	return &yaml.SyntaxError{Token: start(n), Message: fmt.Errorf(format, args...).Error()}
}

// placed gives an error of the YAML package, or a fault, its place.
func placed(name string, err error) error {
	var e yaml.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s:1:1: %w", name, err)
	}
	return fmt.Errorf("%s:%s: %s", name, place(e.GetToken()), e.GetMessage())
}

func place(t *token.Token) string {
	if t == nil || t.Position == nil {
		return "1:1"
	}
	return fmt.Sprintf("%d:%d", t.Position.Line, t.Position.Column)
}

// start returns the token that a node begins with: that of a mapping is the colon after its first key.
func start(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

// refused finds a node that a script cannot have: a few lines of aliases of aliases are gigabytes once they
// are resolved.
type refused struct{ node ast.Node }

func (v *refused) Visit(n ast.Node) ast.Visitor {
	if v.node == nil && n != nil && slices.Contains([]ast.NodeType{ast.AliasType, ast.AnchorType, ast.TagType, ast.MergeKeyType}, n.Type()) {
		v.node = n
	}
	return v
}
