// Package yamlfile reads files that people write: YAML of a form that a Go type gives. What is wrong in one is told with
// file, line and column, and with the word that was probably meant.
//
// A new kind of value: a case of walk in form.go, or a type that reads itself and says what it wants (Wants).
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

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
// of type any where more than one form will do, or of a type with UnmarshalYAML(func(any) error), which returns a Wants for
// what is not of its form. Keys that the type has not are refused, and what Parse refuses. A key without a value, where
// a pointer to a struct is wanted, stands for an empty one. An empty file leaves v as it is.
func Read(name string, data []byte, v any) (*File, error) {
	f := &File{name: name, nodes: map[string]*token.Token{}}
	body, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return f, nil
	}
	f.walk(body, reflect.TypeOf(v), "")
	if len(f.errs) > 0 {
		return nil, errors.Join(f.errs...)
	}
	if err := yaml.NodeToValue(body, v, yaml.Strict()); err != nil {
		return nil, Placed(name, err)
	}
	return f, nil
}

// Parse returns what is in a file, for those who read it by themselves: nil if it is empty. A mark of UTF-8 at its
// beginning is left out, and no column counts it. Parse refuses what is not UTF-8, control characters, anchors, aliases, tags and merged keys,
// a second document, what is more than 100 values deep, and what not all take for the same: {a:1}, 012, and tabs in texts but
// in single quotes. Whole numbers of more than 64 bits are values of type json.Number.
func Parse(name string, data []byte) (ast.Node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if at, what := foreign(data); at != "" {
		return nil, fmt.Errorf("%s:%s: %s", name, at, what)
	}
	tokens := lexer.Tokenize(string(data))
	if t := tooDeep(tokens); t != nil {
		return nil, errorAt(name, t, "more than %d values inside of one another", maxDepth)
	}
	if t, err := misread(tokens); err != nil {
		return nil, errorAt(name, t, "%w", err)
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, Placed(name, err)
	}
	docs := slices.DeleteFunc(parsed.Docs, func(d *ast.DocumentNode) bool {
		return d.Body == nil || d.Body.Type() == ast.CommentType || d.Body.Type() == ast.NullType
	})
	if len(docs) == 0 {
		return nil, nil
	}
	if len(docs) > 1 {
		return nil, errorAt(name, Start(docs[1].Body), "a second document; a file is one")
	}
	var odd refused
	if ast.Walk(&odd, docs[0].Body); odd.node != nil {
		return nil, errorAt(name, odd.node.GetToken(), "anchors, aliases and tags are not supported; write out what they stand for")
	}
	return docs[0].Body, nil
}

// foreign says where the first character stands that YAML does not allow in a file, and what is wrong with it: bytes
// that are no UTF-8, and control characters but for tabs and ends of lines. Both are empty if there is none.
func foreign(data []byte) (at, what string) {
	line := 1
	column := 1
	for rest := data; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && n == 1:
			return fmt.Sprintf("%d:%d", line, column), "from here on it is not UTF-8; save the file in UTF-8"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			return fmt.Sprintf("%d:%d", line, column), fmt.Sprintf("the control character %U, which YAML does not allow; in double quotes it is written \\x%02x", r, r)
		case r == '\n':
			line++
			column = 1
		default:
			column++
		}
		rest = rest[n:]
	}
	return "", ""
}

// Name is the file's name, "" of the zero File.
func (f *File) Name() string { return f.name }

// Has reports whether the file has something at path, such as rules[0].when.
func (f *File) Has(path string) bool { return f.nodes[path] != nil }

// At says where a path stands: "line:column", "1:1" if it stands nowhere.
func (f *File) At(path string) string { return where(f.nodes[path], 0) }

// Errorf returns an error about what stands at path: "file:line:column: …".
func (f *File) Errorf(path, format string, args ...any) error {
	return errorAt(f.name, f.nodes[path], format, args...)
}

// ErrorInf is Errorf for what stands column bytes after the beginning of the one-line text at path.
func (f *File) ErrorInf(path string, column int, format string, args ...any) error {
	t := f.nodes[path]
	if t != nil && (t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType) {
		column++
	}
	return fmt.Errorf("%s:%s: %w", f.name, where(t, column), fmt.Errorf(format, args...))
}

func errorAt(name string, t *token.Token, format string, args ...any) error {
	return fmt.Errorf("%s:%s: %w", name, where(t, 0), fmt.Errorf(format, args...))
}

func where(t *token.Token, column int) string {
	if t == nil || t.Position == nil {
		return "1:1"
	}
	return fmt.Sprintf("%d:%d", t.Position.Line, t.Position.Column+column)
}

// Placed gives an error of the YAML package its place: "file:line:column: …".
func Placed(name string, err error) error {
	var e yaml.Error
	if errors.As(err, &e) {
		what := e.GetMessage()
		if strings.HasPrefix(what, "found character '\t'") {
			what = "a tab cannot indent a line; write spaces"
		}
		return errorAt(name, e.GetToken(), "%s", what)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// maxDepth is how deep values may be inside of one another: the parser's memory grows with the square.
const maxDepth = 100

// tooDeep returns the token that is deeper, nil if none is. Indentation needs no look: it grows the file as fast.
func tooDeep(tokens token.Tokens) *token.Token {
	flow := 0
	line := 0
	inLine := 0
	for _, t := range tokens {
		if t.Position != nil && t.Position.Line != line {
			line = t.Position.Line
			inLine = 0
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

// refused finds a node that a file cannot have: a few lines of aliases of aliases are gigabytes once they are
// resolved.
type refused struct{ node ast.Node }

func (v *refused) Visit(n ast.Node) ast.Visitor {
	setNumber(n)
	if v.node == nil && n != nil && slices.Contains([]ast.NodeType{ast.AliasType, ast.AnchorType, ast.TagType, ast.MergeKeyType}, n.Type()) {
		v.node = n
	}
	return v
}
