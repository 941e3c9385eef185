package script

import (
	"math"
	"regexp"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// words returns a node's text.
func words(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	}
	return "", fault(n, "a text is wanted here (put it in quotes)")
}

func (p *pattern) UnmarshalYAML(n ast.Node) error {
	text, err := words(n)
	if err != nil {
		return err
	}
	if p.Regexp, err = regexp.Compile(text); err != nil {
		return fault(n, "%w", err)
	}
	return nil
}

func (t *tmpl) UnmarshalYAML(n ast.Node) error {
	text, err := words(n)
	if err != nil {
		return err
	}
	if *t, err = compile(text); err != nil {
		return fault(n, "%w", err)
	}
	return nil
}

// oneOrMore returns the items of a list, or what stands in the place of one.
func oneOrMore(n ast.Node) []ast.Node {
	if list, ok := n.(*ast.SequenceNode); ok {
		return list.Values
	}
	return []ast.Node{n}
}

// names is a name, or a list of them.
type names []string

func (l *names) UnmarshalYAML(n ast.Node) error {
	for _, item := range oneOrMore(n) {
		name, err := words(item)
		if err != nil {
			return err
		}
		if name == "" {
			return fault(item, "the name is empty")
		}
		*l = append(*l, name)
	}
	if len(*l) == 0 {
		return fault(n, "the list is empty")
	}
	return nil
}

// calls is a call, or a list of them.
type calls []scriptedCall

func (l *calls) UnmarshalYAML(n ast.Node) error {
	for _, item := range oneOrMore(n) {
		var c scriptedCall
		if err := decode(item, &c); err != nil {
			return err
		}
		if c.Name == "" {
			return fault(item, "the call has no name")
		}
		if c.Args != nil {
			switch c.Args.of.(type) {
			case *tmpl, map[string]value:
			default:
				return fault(item, "args of %s are keys and values, or a text that is a JSON object", c.Name)
			}
		}
		*l = append(*l, c)
	}
	if len(*l) == 0 {
		return fault(n, "the list is empty")
	}
	return nil
}

func (f *failure) UnmarshalYAML(n ast.Node) error {
	type plain failure
	return decode(n, (*plain)(f))
}

func (u *usage) UnmarshalYAML(n ast.Node) error {
	type plain usage
	return decode(n, (*plain)(u))
}

// code is a name such as MAX_TOKENS.
type code string

var codes = lazyregexp.New(`^[A-Z][A-Z0-9_]*$`)

func (c *code) UnmarshalYAML(n ast.Node) error {
	text, err := words(n)
	if err == nil && !codes.MatchString(text) {
		err = fault(n, "%q is no code such as MAX_TOKENS or UNAVAILABLE", text)
	}
	*c = code(text)
	return err
}

// count is a positive number.
type count int32

func (c *count) UnmarshalYAML(n ast.Node) error {
	var i int32
	if err := yaml.NodeToValue(n, &i); err != nil || n.Type() != ast.IntegerType || i < 1 {
		return fault(n, "a whole number from 1 to %d is wanted here", math.MaxInt32)
	}
	*c = count(i)
	return nil
}

// duration is a text such as 500ms.
type duration time.Duration

func (d *duration) UnmarshalYAML(n ast.Node) error {
	text, err := words(n)
	parsed, bad := time.ParseDuration(text)
	if err != nil || bad != nil || parsed < 0 {
		return fault(n, "a duration such as 500ms or 2s is wanted here")
	}
	*d = duration(parsed)
	return nil
}
