package main

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// walk notes where the values of a node stand and what in it is not of the form of type t. A key
// without a value, where an object is wanted, becomes an empty object: "- logger:" is a logger.
func (s *source) walk(n ast.Node, t reflect.Type, path string) {
	switch v := n.(type) {
	case *ast.AnchorNode:
		s.walk(v.Value, t, path)
		return
	case *ast.TagNode, *ast.AliasNode: // left to the decoder
		return
	}
	s.nodes[path] = start(n)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := func(what string, ok bool) bool {
		if !ok {
			s.errs = append(s.errs, s.errorAt(start(n), "%s wants %s, not %s", last(path), what, kindOf(n)))
		}
		return ok
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		_, err := time.ParseDuration(strings.Trim(n.String(), `"'`))
		want("a duration such as 500ms or 2s", n.Type() == ast.StringType && err == nil)
	case t == reflect.TypeFor[size]():
		want("a size such as 512MiB", isSize(n))
	case t == reflect.TypeFor[pluginFile]():
		want("a path, or a path and its digest", isPluginFile(n))
	case t.Kind() == reflect.String:
		want("a text (put it in quotes)", n.Type() == ast.StringType || n.Type() == ast.LiteralType)
	case t.Kind() == reflect.Bool:
		want("true or false", n.Type() == ast.BoolType)
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int32:
		_, err := strconv.ParseInt(strings.ReplaceAll(n.GetToken().Value, "_", ""), 0, 32)
		want("a whole number", n.Type() == ast.IntegerType && err == nil)
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		want("a number", n.Type() == ast.IntegerType || n.Type() == ast.FloatType)
	case t.Kind() == reflect.Slice:
		if list, ok := n.(*ast.SequenceNode); want("a list", ok) {
			for i, item := range list.Values {
				s.walk(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case t.Kind() == reflect.Interface: // it may be anything; where its values stand is noted
		s.walkAny(n, path)
	case t.Kind() == reflect.Struct:
		if m, ok := n.(*ast.MappingNode); want("keys and values", ok) {
			s.walkStruct(m, t, path)
		}
	case t.Kind() == reflect.Map:
		if m, ok := n.(*ast.MappingNode); want("keys and values", ok) {
			for _, v := range m.Values {
				if !v.Key.IsMergeKey() {
					s.walk(v.Value, t.Elem(), path+"."+v.Key.GetToken().Value)
				}
			}
		}
	}
}

func (s *source) walkAny(n ast.Node, path string) {
	switch v := n.(type) {
	case *ast.SequenceNode:
		for i, item := range v.Values {
			s.walk(item, reflect.TypeFor[any](), fmt.Sprintf("%s[%d]", path, i))
		}
	case *ast.MappingNode:
		s.walk(v, reflect.TypeFor[map[string]any](), path)
	}
}

func (s *source) walkStruct(m *ast.MappingNode, t reflect.Type, path string) {
	fields := map[string]reflect.Type{}
	var names []string
	for _, f := range reflect.VisibleFields(t) { // those of structs inside too, which are inline
		if name := f.Tag.Get("yaml"); name != "" && name != "-" && !f.Anonymous {
			fields[name] = f.Type
			names = append(names, name)
		}
	}
	for _, v := range m.Values {
		if v.Key.IsMergeKey() {
			continue
		}
		name := v.Key.GetToken().Value
		field, known := fields[name]
		if !known {
			s.errs = append(s.errs, s.errorAt(v.Key.GetToken(), "unknown key %q%s", name, orList(meant(name, names), names)))
			continue
		}
		if v.Value.Type() == ast.NullType && field.Kind() == reflect.Pointer {
			v.Value = ast.Mapping(v.Value.GetToken(), true)
		}
		s.walk(v.Value, field, strings.TrimPrefix(path+"."+name, "."))
	}
}

// start returns the token that a node begins with: that of a mapping is the colon after its first key.
func start(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

// orList returns the hint, or all that there is if there is none.
func orList(hint string, names []string) string {
	if hint != "" {
		return hint
	}
	slices.Sort(names)
	return "; there are " + strings.Join(names, ", ")
}

func last(path string) string {
	if path == "" {
		return "the configuration"
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
	return n.GetToken().Value
}
