package script

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/plughook/plughook/yamlfile"
)

// parse reads a script, and returns an error for each rule that cannot be.
func parse(name string, data []byte) ([]*rule, error) {
	body, err := yamlfile.Parse(name, data)
	if err != nil {
		return nil, err
	}
	list, ok := body.(*ast.SequenceNode)
	switch {
	case body == nil, ok && len(list.Values) == 0:
		return nil, fmt.Errorf("%s:1:1: the script has no rules", name)
	case !ok:
		return nil, yamlfile.Placed(name, fault(body, "a script is a list of rules"))
	}
	var rules []*rule
	var errs []error
	for _, item := range list.Values {
		begins := yamlfile.Start(item).Position
		r := &rule{position: fmt.Sprintf("%d:%d", begins.Line, begins.Column)}
		if err := decode(item, r); err != nil {
			errs = append(errs, yamlfile.Placed(name, err))
		} else if err := r.check(); err != nil {
			errs = append(errs, yamlfile.Placed(name, fault(item, "%w", err)))
		}
		rules = append(rules, r)
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
			return &yaml.SyntaxError{Token: key,
				Message: fmt.Sprintf("unknown key %q%s", key.Value, yamlfile.Meant(key.Value, known))}
		}
		if i.Value().Type() == ast.NullType {
			return &yaml.SyntaxError{Token: key, Message: fmt.Sprintf("%s has no value", key.Value)}
		}
	}
	return yaml.NodeToValue(n, into)
}

// fault is an error about what begins at a node.
func fault(n ast.Node, format string, args ...any) error {
	return &yaml.SyntaxError{Token: yamlfile.Start(n), Message: fmt.Errorf(format, args...).Error()}
}
