package main

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// source is a configuration file's text: where things stand in it, and what is wrong with its form.
type source struct {
	name  string
	nodes map[string]*token.Token // by path, such as plugins[0].timeout
	errs  []error
}

// parseConfig reads a configuration. Its errors say file, line and column.
func parseConfig(name string, data []byte) (*config, error) {
	s := &source{name: name, nodes: map[string]*token.Token{}}
	c := &config{source: s}
	if t := tooDeep(lexer.Tokenize(string(data))); t != nil {
		return nil, s.errorAt(t, "more than %d values inside of one another", maxDepth)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, s.wrap(err)
	}
	for i, doc := range file.Docs {
		// A few lines of aliases of aliases are gigabytes once they are resolved.
		if alias := firstAlias(doc); alias != nil {
			return nil, s.errorAt(alias.GetToken(), "aliases are not supported; write out what they stand for")
		}
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType {
			continue
		}
		if i > 0 {
			return nil, s.errorAt(start(doc.Body), "a second document; a configuration is one")
		}
		s.walk(doc.Body, reflect.TypeFor[config](), "")
		if len(s.errs) > 0 {
			return nil, errors.Join(s.errs...)
		}
		if err := yaml.NodeToValue(doc.Body, c, yaml.Strict()); err != nil {
			return nil, s.wrap(err)
		}
	}
	return c, c.check()
}

// maxDepth is how deep values may be inside of one another: the parser's memory grows with the square.
const maxDepth = 100

// tooDeep returns the token that is deeper, nil if none is. Indentation needs no look: it grows the file as fast.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, line, inLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position != nil && t.Position.Line != line {
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

// firstAlias returns the first alias in a document, nil if there is none.
func firstAlias(doc *ast.DocumentNode) ast.Node {
	v := &aliasFinder{}
	if doc.Body != nil {
		ast.Walk(v, doc.Body)
	}
	return v.found
}

type aliasFinder struct{ found ast.Node }

func (v *aliasFinder) Visit(n ast.Node) ast.Visitor {
	if v.found == nil && n != nil && n.Type() == ast.AliasType {
		v.found = n
	}
	return v
}

// has reports whether the file has something at path.
func (s *source) has(path string) bool { return s.nodes[path] != nil }

// at says where a path stands: line and column.
func (s *source) at(path string) string {
	if t := s.nodes[path]; t != nil && t.Position != nil {
		return fmt.Sprintf("%d:%d", t.Position.Line, t.Position.Column)
	}
	return "1:1"
}

// errorf returns an error about what stands at path.
func (s *source) errorf(path, format string, args ...any) error {
	return s.errorAt(s.nodes[path], format, args...)
}

func (s *source) errorAt(t *token.Token, format string, args ...any) error {
	where := "1:1"
	if t != nil && t.Position != nil {
		where = fmt.Sprintf("%d:%d", t.Position.Line, t.Position.Column)
	}
	return fmt.Errorf("%s:%s: %w", s.name, where, fmt.Errorf(format, args...))
}

// wrap gives an error of the YAML package its place.
func (s *source) wrap(err error) error {
	var e yaml.Error
	if errors.As(err, &e) {
		return s.errorAt(e.GetToken(), "%s", e.GetMessage())
	}
	return fmt.Errorf("%s: %w", s.name, err)
}
