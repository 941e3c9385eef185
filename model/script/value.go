package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// tmpl is a text with a template's actions in it.
type tmpl struct{ *template.Template }

var functions = template.FuncMap{"json": jsonOf}

// jsonOf writes a value as JSON, with keys sorted and nothing escaped that need not be.
func jsonOf(v any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), err
}

func compile(text string) (tmpl, error) {
	t, err := template.New("template").Option("missingkey=error").Funcs(functions).Parse(text)
	return tmpl{t}, err
}

func (t *tmpl) fill(ctx context.Context, data map[string]any) (string, error) {
	out := bounded{ctx: ctx}
	err := t.Execute(&out, data)
	return out.String(), err
}

// bounded is where a template writes: a script's mistake ends the call and not the program.
type bounded struct {
	bytes.Buffer
	ctx context.Context
}

const most = 1 << 20

func (b *bounded) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.Len()+len(p) > most {
		return 0, fmt.Errorf("it makes more than %d bytes of text", most)
	}
	return b.Buffer.Write(p)
}

// value is a JSON value in which texts are templates: *tmpl, []value, map[string]value, or a
// constant.
type value struct{ of any }

func (v *value) UnmarshalYAML(n ast.Node) error {
	switch n := n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		t := &tmpl{}
		v.of = t
		return t.UnmarshalYAML(n)
	case *ast.SequenceNode:
		list := make([]value, len(n.Values))
		for i, item := range n.Values {
			if err := list[i].UnmarshalYAML(item); err != nil {
				return err
			}
		}
		v.of = list
		return nil
	case ast.MapNode:
		object := map[string]value{}
		for i := n.MapRange(); i.Next(); {
			var member value
			if err := member.UnmarshalYAML(i.Value()); err != nil {
				return err
			}
			object[i.Key().GetToken().Value] = member
		}
		v.of = object
		return nil
	}
	if err := yaml.NodeToValue(n, &v.of); err != nil {
		return err
	}
	// As it is once it was written to a log and read: texts, truths, and numbers that are float64.
	data, err := json.Marshal(v.of)
	if err == nil {
		err = json.Unmarshal(data, &v.of)
	}
	if f, ok := v.of.(float64); ok && math.Abs(f) >= 1<<53 {
		v.of = json.Number(data)
	}
	if err != nil {
		return fault(n, "it is no JSON value: %w", err)
	}
	return nil
}

func (v *value) fill(ctx context.Context, data map[string]any) (any, error) {
	switch of := v.of.(type) {
	case *tmpl:
		return of.fill(ctx, data)
	case []value:
		list := make([]any, len(of))
		for i := range of {
			x, err := of[i].fill(ctx, data)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
		return list, nil
	case map[string]value:
		object := make(map[string]any, len(of))
		for k, m := range of {
			x, err := m.fill(ctx, data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			object[k] = x
		}
		return object, nil
	}
	return v.of, nil
}

// text is the value as what a model says: a text as it is, anything else as JSON.
func (v *value) text(ctx context.Context, data map[string]any) (string, error) {
	filled, err := v.fill(ctx, data)
	if err != nil {
		return "", err
	}
	if text, ok := filled.(string); ok {
		return text, nil
	}
	return jsonOf(filled)
}

// object is the value as a function's arguments: an object, or a text that is one in JSON.
func (v *value) object(ctx context.Context, data map[string]any) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	filled, err := v.fill(ctx, data)
	if err != nil {
		return nil, err
	}
	if text, ok := filled.(string); ok {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
			return nil, errors.Join(fmt.Errorf("the text is no JSON object: %s", text), err)
		}
		return object, nil
	}
	return filled.(map[string]any), nil
}
