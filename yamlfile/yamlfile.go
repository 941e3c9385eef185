// Package yamlfile reads files that people write: YAML of a form that a Go type gives. What is wrong in one is told with
// file, line and column, and with the word that was probably meant.
package yamlfile

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A File is one that was read: it knows where things stand in it.
type File struct {
	name  string
	nodes map[string]*token.Token // by path, such as rules[0].when
	errs  []error
}

// Read reads data, the content of the file of that name, into what v points to: a struct whose fields have yaml tags;
// of type any where more than one form will do. Keys that the type has not are refused, and so are aliases, a second
// document, and what is more than 100 values deep. An empty file leaves v as it is.
func Read(name string, data []byte, v any) (*File, error) {
	f := &File{name: name, nodes: map[string]*token.Token{}}
	if t := tooDeep(lexer.Tokenize(string(data))); t != nil {
		return nil, f.errorAt(t, "more than %d values inside of one another", maxDepth)
	}
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, f.wrap(err)
	}
	for i, doc := range parsed.Docs {
		// A few lines of aliases of aliases are gigabytes once they are resolved.
		if alias := firstAlias(doc); alias != nil {
			return nil, f.errorAt(alias.GetToken(), "aliases are not supported; write out what they stand for")
		}
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType {
			continue
		}
		if i > 0 {
			return nil, f.errorAt(start(doc.Body), "a second document; a file is one")
		}
		f.form(doc.Body, v)
		if len(f.errs) > 0 {
			return nil, errors.Join(f.errs...)
		}
		if err := yaml.NodeToValue(doc.Body, v, yaml.Strict()); err != nil {
			return nil, f.wrap(err)
		}
	}
	return f, nil
}

// Has reports whether the file has something at path, such as rules[0].when.
func (f *File) Has(path string) bool { return f.nodes[path] != nil }

// At says where a path stands: "line:column", "1:1" if it stands nowhere.
func (f *File) At(path string) string { return where(f.nodes[path], 0) }

// Errorf returns an error about what stands at path: "file:line:column: …".
func (f *File) Errorf(path, format string, args ...any) error {
	return f.errorAt(f.nodes[path], format, args...)
}

// ErrorInf is Errorf for what stands column bytes after the beginning of the one-line text at path.
func (f *File) ErrorInf(path string, column int, format string, args ...any) error {
	t := f.nodes[path]
	if t != nil && (t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType) {
		column++
	}
	return fmt.Errorf("%s:%s: %w", f.name, where(t, column), fmt.Errorf(format, args...))
}

func (f *File) errorAt(t *token.Token, format string, args ...any) error {
	return fmt.Errorf("%s:%s: %w", f.name, where(t, 0), fmt.Errorf(format, args...))
}

func where(t *token.Token, column int) string {
	if t == nil || t.Position == nil {
		return "1:1"
	}
	return fmt.Sprintf("%d:%d", t.Position.Line, t.Position.Column+column)
}

// wrap gives an error of the YAML package its place.
func (f *File) wrap(err error) error {
	var e yaml.Error
	if errors.As(err, &e) {
		return f.errorAt(e.GetToken(), "%s", e.GetMessage())
	}
	return fmt.Errorf("%s: %w", f.name, err)
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
