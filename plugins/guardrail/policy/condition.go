package policy

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	exprfile "github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/plughook/plughook/internal/expression"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/policy/file"
	"github.com/plughook/plughook/yamlfile"
)

// asked has what conditions can ask about. Where the text, a call's arguments, the state or a file's
// name have tokens of the vault, conditions see what these stand for.
type asked struct {
	expression.Meter
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
	Files   []file.File    `expr:"files"`
	Session history        `expr:"session"`
	Turn    history        `expr:"turn"`
}

type askedTool struct {
	Name string         `expr:"name"`
	Args map[string]any `expr:"args"`
}

// condition is a compiled when. Its computation has a budget of memory and time (expression.ErrBudget).
type condition struct {
	program *vm.Program
	text    bool // it asks about text
	scope   bool // it asks about tool, state or files
	taint   bool // it asks about taint or tainted
	files   bool // it asks about files
	history bool // it asks about session or turn
}

// condition reads and compiles a condition; nil if there is none.
func (r *reader) condition(path, source string) *condition {
	if source == "" {
		return nil
	}
	_, _, err := expression.Compile(source, asked{}, expr.AsBool())
	var checked, program *vm.Program
	if err == nil { // AsBool would make the same error of every other result
		checked, program, err = expression.Compile(source, asked{})
	}
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
	node := checked.Node()
	ast.Walk(&node, uses)
	kind := neverBool(node)
	if kind != "" {
		r.bad(path, "when: its result is %s, and must be true or false", kind)
	}
	if uses.ranges {
		r.bad(path, "when: ranges (a..b) are not supported, since they can take very long")
	}
	if !uses.names {
		r.bad(path, "when: it has the same result for every text, since it uses none of stage, app, user, tenant, agent, branch, tool, text, state, taint, tainted, files, session and turn; use one of them, or leave out when:, or the rule")
	}
	r.policy.taints = r.policy.taints || c.taint
	r.policy.flows = r.policy.flows || c.history
	for _, name := range uses.flagged {
		r.source(path, name)
	}
	if uses.calls != len(uses.flagged) {
		r.bad(path, `when: write the name of a rule, or a type, in quotes, as in session.flagged("hints")`)
	}
	r.policy.readsKeys = append(r.policy.readsKeys, expression.Keys(node, "state")...)
	return c
}

var (
	unknownName = lazyregexp.New(`^unknown name (\S+)$`)
	unknownKey  = lazyregexp.New(`^type policy\.askedTool has no (?:field|method) (\S+)$`)
	// goTypes are types as the program writes them, for which a policy has other words.
	goTypes = strings.NewReplacer("policy.askedTool", "tool", "policy.history", "session", "[]file.File", "list of files", "file.File", "file", "policy.asked", "$env",
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
		if name := f.Tag.Get("expr"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// uses notes what an expression uses.
type uses struct {
	condition *condition
	ranges    bool
	names     bool     // of what can be asked about, or the time
	calls     int      // that begin with session or turn
	flagged   []string // what these ask for
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
		if all || n.Value == "tool" || n.Value == "state" || n.Value == "files" {
			u.condition.scope = true
		}
		if all || n.Value == "taint" || n.Value == "tainted" {
			u.condition.taint = true
		}
		if n.Value == "session" || n.Value == "turn" {
			u.calls++
		}
		if all || n.Value == "session" || n.Value == "turn" {
			u.condition.history = true
		}
	case *ast.CallNode:
		_, ofHistory := n.Callee.(*ast.MemberNode)
		if ofHistory && len(n.Arguments) == 1 {
			if name, ok := n.Arguments[0].(*ast.StringNode); ok {
				u.flagged = append(u.flagged, name.Value)
			}
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

// opened is what conditions see: a scope and a text with what the vault's tokens in them stand for.
// Conditions and permissions alone see it: no message, record or metric has anything of it.
type opened struct {
	scope *Scope // nil until a condition asks for it
	text  string
	of    string // the text before it was opened
}

// openedScope returns the scope as conditions see it.
func (a *Active) openedScope() *Scope {
	if a.opened.scope != nil {
		return a.opened.scope
	}
	s := *a.scope
	s.Args = a.policy.keys.OpenObject(s.Args)
	s.State = a.policy.keys.OpenObject(s.State)
	s.Files = slices.Clone(s.Files)
	for i := range s.Files {
		s.Files[i].Name = a.policy.keys.Open(s.Files[i].Name)
	}
	a.opened.scope = &s
	return &s
}

// openedText returns a text as conditions see it.
func (a *Active) openedText(text string) string {
	if a.opened.of != text {
		a.opened.of = text
		a.opened.text = a.policy.keys.OpenValue(text)
	}
	return a.opened.text
}

// satisfies reports whether a condition holds for a text in the scope; nil always does.
func (a *Active) satisfies(c *condition, text string) (bool, error) {
	if c == nil {
		return true, nil
	}
	s := a.scope
	if c.scope {
		s = a.openedScope()
	}
	if c.text {
		text = a.openedText(text)
	}
	var session, turn history
	if c.history {
		a.asked = nil
		session, turn = a.histories()
	}
	out, err := expr.Run(c.program, asked{
		Meter:   expression.NewMeter(),
		Stage:   string(a.stage),
		App:     s.App,
		User:    s.User,
		Tenant:  a.policy.tenant(a.scope),
		Agent:   s.Agent,
		Branch:  s.Branch,
		Tool:    askedTool{Name: s.Tool, Args: s.Args},
		Text:    text,
		State:   s.State,
		Taint:   s.Taint,
		Tainted: len(s.Taint) > 0,
		Files:   s.Files,
		Session: session,
		Turn:    turn,
	})
	if err != nil {
		// The message may quote a value, so that only the place is told.
		if errors.Is(err, expression.ErrBudget) {
			return false, fmt.Errorf("when: %w with the values that it met; ask less of a long text, as in text contains", expression.ErrBudget)
		}
		column := 0
		var at *exprfile.Error
		if errors.As(err, &at) {
			column = at.Column + 1
		}
		return false, fmt.Errorf("when: it cannot be computed with the values that it met, at its column %d; a key that may be missing is written as state?.key ?? 0", column)
	}
	yes, ok := out.(bool)
	switch {
	case ok:
		return yes, nil
	case out == nil:
		return false, errors.New("when: its result is missing, and must be true or false; a key that may be missing is written as state?.key ?? false")
	}
	return false, fmt.Errorf("when: its result is %s, and must be true or false", kindOf(out))
}

// kindOf names the kind of a condition's result. It does not tell the result.
func kindOf(value any) string {
	switch reflect.ValueOf(value).Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a number"
}

// neverBool returns what kind of result an expression has, if its form shows that it is not true or
// false, whatever values it meets; "" otherwise. The compiler says it where it knows the types of
// the values, which it does not of what stands in arguments and in the state.
func neverBool(node ast.Node) string {
	switch n := node.(type) {
	case *ast.NilNode:
		return "nil"
	case *ast.StringNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.ArrayNode:
		return "a list"
	case *ast.MapNode:
		return "an object"
	case *ast.ChainNode:
		return neverBool(n.Node)
	case *ast.VariableDeclaratorNode:
		return neverBool(n.Expr)
	case *ast.SequenceNode:
		return neverBool(n.Nodes[len(n.Nodes)-1])
	case *ast.ConditionalNode:
		return cmp.Or(neverBool(n.Exp1), neverBool(n.Exp2))
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			return "a number"
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "??":
			return cmp.Or(neverBool(n.Left), neverBool(n.Right))
		case "+":
			return "a number or a text"
		case "-", "*", "/", "%", "**", "^":
			return "a number"
		}
	}
	return ""
}
