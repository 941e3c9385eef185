package yamlfile

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Wants is the error of a type that reads itself, about a value that is not of its form: what it wants, in words.
type Wants string

func (w Wants) Error() string { return "it wants " + string(w) }

// walk notes where the values of a node stand, and what in it is not of the form of type t.
func (f *File) walk(n ast.Node, t reflect.Type, path string) {
	f.nodes[path] = Start(n)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := func(what string, ok bool) bool {
		if !ok {
			f.errs = append(f.errs, errorAt(f.name, Start(n), "%s wants %s, not %s%s", last(path), what, kindOf(n), advice(n, t)))
		}
		return ok
	}
	if v, ok := reflect.New(t).Interface().(yaml.InterfaceUnmarshaler); ok {
		var wants Wants
		switch err := v.UnmarshalYAML(func(into any) error { return yaml.NodeToValue(n, into) }); {
		case errors.As(err, &wants):
			want(string(wants), false)
		case err != nil:
			f.errs = append(f.errs, errorAt(f.name, Start(n), "%s: %w", last(path), err))
		}
		return
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		_, err := time.ParseDuration(strings.Trim(n.String(), `"'`))
		want("a duration such as 500ms or 2s", n.Type() == ast.StringType && err == nil)
	case t.Kind() == reflect.String:
		want("a text (put it in quotes)", n.Type() == ast.StringType || n.Type() == ast.LiteralType)
	case t.Kind() == reflect.Bool:
		want("true or false", n.Type() == ast.BoolType)
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int32:
		_, err := strconv.ParseInt(strings.ReplaceAll(n.GetToken().Value, "_", ""), 0, t.Bits())
		want("a whole number", n.Type() == ast.IntegerType && err == nil)
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		want("a number", n.Type() == ast.IntegerType || n.Type() == ast.FloatType)
	case t.Kind() == reflect.Slice:
		if list, ok := n.(*ast.SequenceNode); want("a list", ok) {
			for i, item := range list.Values {
				f.walk(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case t.Kind() == reflect.Interface: // it may be anything; where its values stand is noted
		f.walkAny(n, path)
	case t.Kind() == reflect.Struct:
		if m, ok := n.(*ast.MappingNode); want("keys and values", ok) {
			f.walkStruct(m, t, path)
		}
	case t.Kind() == reflect.Map:
		if m, ok := n.(*ast.MappingNode); want("keys and values", ok) {
			for _, v := range m.Values {
				f.walk(v.Value, t.Elem(), path+"."+v.Key.GetToken().Value)
			}
		}
	}
}

// advice says what to write in the place of a value, where a list or keys are wanted: "" if nothing short does.
func advice(n ast.Node, t reflect.Type) string {
	scalar, isScalar := n.(ast.ScalarNode)
	if !isScalar {
		return ""
	}
	text := scalar.String()
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String && n.Type() == ast.StringType:
		isWord := len(text) <= maxShown && !strings.Contains(text, " ") // a command in one text is another list
		if isWord {
			return fmt.Sprintf("; write [%s]", text)
		}
	case t.Kind() == reflect.Struct:
		names := slices.Sorted(maps.Keys(keysOf(t)))
		switch {
		case len(names) == 0:
			return "; it has no keys, so leave the value out"
		case len(names) <= 8:
			return "; its keys are " + strings.Join(names, ", ")
		}
	}
	return ""
}

// keysOf returns the keys of a struct, and of structs inside it that are inline, with the types of their values.
func keysOf(t reflect.Type) map[string]reflect.Type {
	keys := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		name := field.Tag.Get("yaml")
		if name != "" && name != "-" && !field.Anonymous {
			keys[name] = field.Type
		}
	}
	return keys
}

func (f *File) walkAny(n ast.Node, path string) {
	switch v := n.(type) {
	case *ast.SequenceNode:
		for i, item := range v.Values {
			f.walk(item, reflect.TypeFor[any](), fmt.Sprintf("%s[%d]", path, i))
		}
	case *ast.MappingNode:
		f.walk(v, reflect.TypeFor[map[string]any](), path)
	}
}

func (f *File) walkStruct(m *ast.MappingNode, t reflect.Type, path string) {
	fields := keysOf(t)
	names := slices.Sorted(maps.Keys(fields))
	for _, v := range m.Values {
		name := v.Key.GetToken().Value
		field, known := fields[name]
		if !known {
			f.errs = append(f.errs, errorAt(f.name, v.Key.GetToken(), "unknown key %q%s", name, Meant(name, names)))
			continue
		}
		if v.Value.Type() == ast.NullType && field.Kind() == reflect.Pointer && field.Elem().Kind() == reflect.Struct {
			v.Value = ast.Mapping(v.Value.GetToken(), true)
		}
		f.walk(v.Value, field, strings.TrimPrefix(path+"."+name, "."))
	}
}

// Meant returns `; did you mean "…"?` with the word that is most like the given one, and all the words there are if
// none is like it.
func Meant(word string, words []string) string {
	if guess := Guess(word, words); guess != "" {
		return guess
	}
	if len(words) == 0 {
		return "; there are none"
	}
	return "; there are " + strings.Join(slices.Sorted(slices.Values(words)), ", ")
}

// Guess is Meant without the words there are: "" if none is like it.
func Guess(word string, words []string) string {
	best := ""
	least := max(2, len(word)/3) + 1 // a word that needs so many edits is another word
	for _, w := range words {
		d := edits(strings.ToLower(word), strings.ToLower(w))
		if strings.ReplaceAll(word, "-", "_") == strings.ReplaceAll(w, "-", "_") {
			d = 0
		}
		if d < least && d < len(w) {
			best = w
			least = d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// edits returns how many letters have to be inserted, deleted or replaced to make one word of another.
func edits(a, b string) int {
	to := []rune(b)
	row := make([]int, len(to)+1) // of the letters of a so far, to each beginning of b
	for j := range row {
		row[j] = j
	}
	for _, letter := range a {
		diagonal := row[0]
		row[0]++
		for j := range to {
			replaced := diagonal
			if letter != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(to)]
}

// Start returns the token that a node begins with: that of a mapping is the colon after its first key.
func Start(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

func last(path string) string {
	if path == "" {
		return "the file"
	}
	return path[strings.LastIndex(path, ".")+1:]
}

func kindOf(n ast.Node) string {
	switch n.Type() {
	case ast.MappingType, ast.MappingValueType:
		return "keys and values"
	case ast.SequenceType:
		return "a list"
	case ast.NullType:
		return "nothing"
	}
	text := []rune(n.GetToken().Value)
	if len(text) > maxShown { // it may be a page that was loaded in the place of a file
		text = append(text[:maxShown], '…')
	}
	return string(text)
}

// maxShown is how many characters of a wrong value an error quotes.
const maxShown = 60
