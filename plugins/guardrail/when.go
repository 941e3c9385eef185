package guardrail

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
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
		switch {
		case !errors.As(err, &at):
			r.bad(path, "when: %s", whenWrong(err.Error()))
		case strings.Contains(source, "\n"):
			r.bad(path, "when: %s, at its line %d, column %d", whenWrong(at.Message), at.Line, at.Column+1)
		default:
			r.errs = append(r.errs, r.ErrorInf(path, at.Column, "when: %s", whenWrong(at.Message)))
		}
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

var (
	unknownName = regexp.MustCompile(`^unknown name (\S+)$`)
	unknownKey  = regexp.MustCompile(`^type guardrail\.askedTool has no (?:field|method) (\S+)$`)
	// goTypes are types as the program writes them, for which a policy has other words.
	goTypes = strings.NewReplacer("guardrail.askedTool", "tool", "guardrail.asked", "$env", "map[string]interface {}", "object",
		"[]interface {}", "list", "[]string", "list", "interface {}", "any value", "time.Time", "time")
)

// whenWrong says what is wrong with a condition in the words of policies, with the name that was probably meant.
func whenWrong(message string) string {
	if m := unknownName.FindStringSubmatch(message); m != nil {
		return message + yamlfile.Meant(m[1], namesOf(reflect.TypeFor[asked]()))
	}
	if m := unknownKey.FindStringSubmatch(message); m != nil {
		return "unknown name tool." + m[1] + yamlfile.Meant(m[1], namesOf(reflect.TypeFor[askedTool]()))
	}
	return goTypes.Replace(message)
}

// namesOf are the names that conditions have for a struct's fields.
func namesOf(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		names = append(names, f.Tag.Get("expr"))
	}
	return names
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
