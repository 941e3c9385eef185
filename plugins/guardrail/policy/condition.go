package policy

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

// asked has what conditions can ask about.
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
	Files   []File         `expr:"files"`
}

type askedTool struct {
	Name string         `expr:"name"`
	Args map[string]any `expr:"args"`
}

// condition is a compiled when.
type condition struct {
	program *vm.Program
	text    bool // it asks about text
	taint   bool // it asks about taint or tainted
	files   bool // it asks about files
}

// maxNodes is the most nodes that an expression may have. Together with the ban on ranges it bounds
// how long an expression takes.
const maxNodes = 500

// condition reads and compiles a condition; nil if there is none.
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
	uses := &uses{condition: c}
	node := program.Node()
	ast.Walk(&node, uses)
	if uses.ranges {
		r.bad(path, "when: ranges (a..b) are not supported, since they can take very long")
	}
	if !uses.names {
		r.bad(path, "when: it has the same result for every text, since it uses none of stage, app, user, tenant, agent, branch, tool, text, state, taint, tainted and files; use one of them, or leave out when:, or the rule")
	}
	r.policy.taints = r.policy.taints || c.taint
	return c
}

var (
	unknownName = regexp.MustCompile(`^unknown name (\S+)$`)
	unknownKey  = regexp.MustCompile(`^type policy\.askedTool has no (?:field|method) (\S+)$`)
	// goTypes are types as the program writes them, for which a policy has other words.
	goTypes = strings.NewReplacer("policy.askedTool", "tool", "[]policy.File", "list of files", "policy.File", "file", "policy.asked", "$env",
		"map[string]interface {}", "object",
		"[]interface {}", "list", "[]string", "list", "interface {}", "any value", "time.Time", "time")
)

// whenWrong puts what is wrong with a condition into the words of policies, with the name that was
// probably meant.
func whenWrong(message string) string {
	m := unknownName.FindStringSubmatch(message)
	if m != nil {
		return message + yamlfile.Meant(m[1], namesOf(reflect.TypeFor[asked]()))
	}
	m = unknownKey.FindStringSubmatch(message)
	if m != nil {
		return "unknown name tool." + m[1] + yamlfile.Meant(m[1], namesOf(reflect.TypeFor[askedTool]()))
	}
	return goTypes.Replace(message)
}

// namesOf returns the names that conditions have for a struct's fields.
func namesOf(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		names = append(names, f.Tag.Get("expr"))
	}
	return names
}

// uses notes what an expression uses.
type uses struct {
	condition *condition
	ranges    bool
	names     bool // of what can be asked about, or the time
}

// Visit implements ast.Visitor.
func (u *uses) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		u.names = true
		all := n.Value == "$env"
		if all || n.Value == "text" {
			u.condition.text = true
		}
		if n.Value == "files" {
			u.condition.files = true
		}
		if all || n.Value == "taint" || n.Value == "tainted" {
			u.condition.taint = true
		}
	case *ast.BuiltinNode:
		if n.Name == "now" {
			u.names = true
		}
	case *ast.BinaryNode:
		if n.Operator == ".." {
			u.ranges = true
		}
	}
}

// holds reports whether the condition is true; nil always is.
func (c *condition) holds(p *Policy, stage Stage, s *Scope, text string) (bool, error) {
	if c == nil {
		return true, nil
	}
	env := asked{
		Stage:   string(stage),
		App:     s.App,
		User:    s.User,
		Tenant:  p.tenant(s),
		Agent:   s.Agent,
		Branch:  s.Branch,
		Tool:    askedTool{Name: s.Tool, Args: s.Args},
		Text:    text,
		State:   s.State,
		Taint:   s.Taint,
		Tainted: len(s.Taint) > 0,
		Files:   s.Files,
	}
	out, err := expr.Run(c.program, env)
	if err != nil {
		// The message may quote a value, so that only the place is told.
		column := 0
		var at *exprfile.Error
		if errors.As(err, &at) {
			column = at.Column + 1
		}
		return false, fmt.Errorf("when: it cannot be computed with the values that it met, at its column %d; a key that may be missing is written as state?.key ?? 0", column)
	}
	yes, _ := out.(bool)
	return yes, nil
}
