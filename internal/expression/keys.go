package expression

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// Keys returns the keys that an expression reads of an object with a name, such as of state in state.city. They are
// "*" if it does more with the object than to read keys that it names.
func Keys(node ast.Node, object string) []string {
	r := &reads{object: object}
	ast.Walk(&node, r)
	if r.seen > r.read {
		return []string{"*"}
	}
	slices.Sort(r.keys)
	return slices.Compact(r.keys)
}

// reads collects the keys that are read of an object. An expression's inner nodes are visited first.
type reads struct {
	object     string
	keys       []string
	seen, read int // how often the object is there, and is there to read a key that is named
}

// Visit implements ast.Visitor.
func (r *reads) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == r.object || n.Value == "$env" {
			r.seen++
		}
	case *ast.MemberNode:
		r.note(n.Node, n.Property)
	case *ast.BinaryNode:
		if n.Operator == "in" {
			r.note(n.Right, n.Left)
		}
	}
}

func (r *reads) note(of, key ast.Node) {
	object, isName := of.(*ast.IdentifierNode)
	name, isText := key.(*ast.StringNode)
	if isName && isText && object.Value == r.object {
		r.read++
		r.keys = append(r.keys, name.Value)
	}
}
