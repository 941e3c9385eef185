package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/genaischema"
	"github.com/plughook/plughook/tool"
)

// A State says which keys of the session's state nodes may set, and to what. StateOf makes one.
//
// It holds for what a node's run sets (Run.Set, a tool's state, Node.OutputKey) and for the parameters of
// functions, not for what an agent in a node sets by itself. A key with a ':', such as "app:n" or "temp:n",
// is free.
type State struct {
	schema *jsonschema.Schema
	fits   func(context.Context, any) error
	wrong  error
}

// StateOf returns a State with a key for each JSON field of T, a struct. A graph reports a T that is none.
func StateOf[T any]() *State {
	t := reflect.TypeFor[T]()
	schema, err := schemaOf(t)
	if err == nil && (schema == nil || schema.Type != "object" || t.Kind() != reflect.Struct) {
		err = errors.New("it is no struct")
	}
	if err != nil {
		return &State{wrong: fmt.Errorf("the state of type %s: %w", t, err)}
	}
	any := *schema // a run sets some of the keys
	any.Required = nil
	s := &State{schema: schema}
	s.fits, s.wrong = tool.Schema(&any)
	return s
}

// StateSchema returns a State with the keys that a JSON schema of an object has as properties: a *genai.Schema, or
// whatever else tool.Schema takes, such as a map. A graph reports one that is none.
func StateSchema(schema any) *State {
	if s, ok := schema.(*genai.Schema); ok {
		schema = genaischema.ToJSON(s)
	}
	s := &State{schema: &jsonschema.Schema{}}
	data, err := json.Marshal(schema)
	if err == nil {
		err = json.Unmarshal(data, s.schema)
	}
	if err == nil && len(s.schema.Properties) == 0 {
		err = errors.New("it has no properties")
	}
	if err != nil {
		return &State{wrong: fmt.Errorf("the schema of the state: %w", err)}
	}
	some := *s.schema // a run sets some of the keys
	some.Required = nil
	s.fits, s.wrong = tool.Schema(&some)
	return s
}

// knows returns an error if the state has no such key.
func (s *State) knows(key string) error {
	if s == nil || strings.Contains(key, ":") || s.schema.Properties[key] != nil {
		return nil
	}
	return fmt.Errorf("the state has no key %q; it has %s", key, strings.Join(slices.Sorted(maps.Keys(s.schema.Properties)), ", "))
}

// check returns what is wrong with the state that a run sets.
func (s *State) check(delta map[string]any) error {
	if s == nil {
		return nil
	}
	values := map[string]any{}
	for _, key := range sortedKeys(delta) {
		if err := s.knows(key); err != nil {
			return err
		}
		if delta[key] == nil || strings.Contains(key, ":") {
			continue // it is deleted, or free
		}
		value, err := plain(delta[key])
		if err != nil {
			return fmt.Errorf("the state key %q: %w", key, err)
		}
		values[key] = value
	}
	if err := s.fits(context.Background(), values); err != nil {
		return fmt.Errorf("the state does not fit: %w", err)
	}
	return nil
}

// inherit returns the first state of those that say what holds, from the innermost outwards.
func inherit(states ...*State) *State {
	for _, s := range states {
		if s != nil {
			return s
		}
	}
	return nil
}

// checkState returns what in a node does not fit the state that holds around it.
func (n *Node) checkState(around *State, reduce map[string]Reducer) error {
	s := inherit(n.State, around)
	if g, ok := n.kind.(*graph); ok {
		return g.checkState(s, reduce)
	}
	if s == nil {
		return nil
	}
	if s.wrong != nil {
		return fmt.Errorf("node %s: %w", n.Name, s.wrong)
	}
	var wrong []error
	report := func(err error) {
		if err != nil {
			wrong = append(wrong, fmt.Errorf("node %s: %w", n.Name, err))
		}
	}
	fits := func(key string, from, to *jsonschema.Schema) {
		if why := misfit(from, to, ""); why != "" {
			report(fmt.Errorf("the state key %q: %s", key, why))
		}
	}
	if n.OutputKey != "" {
		report(s.knows(n.OutputKey))
		if n.kind != nil && reduce[n.OutputKey] == nil {
			_, output := n.kind.schemas()
			fits(n.OutputKey, output, s.schema.Properties[n.OutputKey])
		}
	}
	switch k := n.kind.(type) {
	case *function:
		for _, f := range k.binding.fields {
			if f.name != nodeInput {
				report(s.knows(f.name))
				fits(f.name, s.schema.Properties[f.name], f.schema)
			}
		}
	case *each:
		if k.node != nil {
			wrong = append(wrong, k.node.checkState(s, reduce))
		}
	}
	return errors.Join(wrong...)
}

// checkState returns what in a graph does not fit its state, or else the state around it.
func (g *graph) checkState(around *State, reduce map[string]Reducer) error {
	s := inherit(g.State, around)
	for _, key := range sortedKeys(g.Reduce) {
		if g.Reduce[key] == nil {
			return fmt.Errorf("the reducer of the state key %q is nil", key)
		}
		if s != nil && s.wrong == nil {
			if err := s.knows(key); err != nil {
				return fmt.Errorf("field Reduce: %w", err)
			}
		}
	}
	reduce = maps.Clone(reduce)
	if reduce == nil {
		reduce = map[string]Reducer{}
	}
	maps.Copy(reduce, g.Reduce)
	if s != nil && s.wrong != nil {
		return s.wrong
	}
	var wrong []error
	for _, nodes := range []map[string]*Node{g.nodes, g.called} {
		for _, name := range sortedKeys(nodes) {
			wrong = append(wrong, nodes[name].checkState(s, reduce))
		}
	}
	return errors.Join(wrong...)
}
