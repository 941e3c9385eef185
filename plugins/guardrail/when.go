package guardrail

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	exprfile "github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/plughook/plughook/yamlfile"
)

// asked is what conditions can ask about.
type asked struct {
	Stage   string         `expr:"stage"`
	App     string         `expr:"app"`
	User    string         `expr:"user"`
	Tenant  string         `expr:"tenant"`
	Agent   string         `expr:"agent"`
	Branch  string         `expr:"branch"`
	Tool    askedTool      `expr:"tool"`
	Text    string         `expr:"text"`
	State   map[string]any `expr:"state"`
	Taint   []string       `expr:"taint"`
	Tainted bool           `expr:"tainted"`
}

type askedTool struct {
	Name string         `expr:"name"`
	Args map[string]any `expr:"args"`
}

// condition is a when, compiled.
type condition struct {
	program     *vm.Program
	text, taint bool // what it asks about
}

// maxNodes bounds an expression, so that with no ranges in it, it takes a time that its values bound.
const maxNodes = 500

func (r *reader) condition(path, source string) *condition {
	if source == "" {
		return nil
	}
	program, err := expr.Compile(source, expr.Env(asked{}), expr.AsBool(), expr.MaxNodes(maxNodes))
	if err != nil {
		var at *exprfile.Error
		if !errors.As(err, &at) || strings.Contains(source, "\n") {
			r.bad(path, "when: %w", err)
			return nil
		}
		r.errs = append(r.errs, r.ErrorInf(path, at.Column, "when: %s%s", at.Message, whenMeant(at.Message)))
		return nil
	}
	c := &condition{program: program}
	look := &looker{c: c}
	node := program.Node()
	ast.Walk(&node, look)
	if look.ranges {
		r.bad(path, "when: ranges (a..b) are not supported: they can take for ever")
	}
	if !look.asks {
		r.bad(path, "when: it asks about nothing, so it is the same for every text: ask about stage, app, user, tenant, agent, branch, tool, text, state, taint or tainted; or leave out when, or the rule")
	}
	r.policy.taints = r.policy.taints || c.taint
	return c
}

// whenMeant returns what a name that is not known was probably meant to be.
func whenMeant(message string) string {
	name, unknown := strings.CutPrefix(message, "unknown name ")
	if !unknown {
		return ""
	}
	var names []string
	for f := range reflect.TypeFor[asked]().Fields() {
		names = append(names, f.Tag.Get("expr"))
	}
	return yamlfile.Meant(name, names)
}

type looker struct {
	c      *condition
	ranges bool
	asks   bool // about anything, or the time
}

func (l *looker) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		l.asks = true
		l.c.text = l.c.text || n.Value == "text" || n.Value == "$env"
		l.c.taint = l.c.taint || n.Value == "taint" || n.Value == "tainted" || n.Value == "$env"
	case *ast.BuiltinNode:
		l.asks = l.asks || n.Name == "now"
	case *ast.BinaryNode:
		l.ranges = l.ranges || n.Operator == ".."
	}
}

// holds reports whether the condition is true; nil always is.
func (c *condition) holds(p *Policy, stage Stage, s *Scope, text string) (bool, error) {
	if c == nil {
		return true, nil
	}
	env := asked{string(stage), s.App, s.User, p.tenant(s), s.Agent, s.Branch, askedTool{s.Tool, s.Args}, text, s.State, s.Taint, len(s.Taint) > 0}
	out, err := expr.Run(c.program, env)
	if err != nil {
		column := 0 // what is wrong may quote a value, so only the place is told
		var at *exprfile.Error
		if errors.As(err, &at) {
			column = at.Column + 1
		}
		return false, fmt.Errorf("when: it cannot be computed with the values that it met, at its column %d; a key that may be missing is written as state?.key ?? 0", column)
	}
	yes, _ := out.(bool)
	return yes, nil
}

// tenant returns the tenant that the session's state names.
func (p *Policy) tenant(s *Scope) string {
	if p.tenantKey == "" {
		return ""
	}
	name, _ := s.State[p.tenantKey].(string)
	return name
}
