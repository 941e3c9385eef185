package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Variables are not followed: what stands in one is not known. This file notes where that matters
// although no word of a command shows it. Bash evaluates a variable in arithmetic once more, and
// runs the command in an index that stands in it: x='a[$(rm y)]'; echo $((x)). And many variables
// name a program, or an option, of the commands that get them.

// variables notes what a part of a line does with variables that may run a command.
func (p *parser) variables(node syntax.Node) {
	switch x := node.(type) {
	case *syntax.ArithmExp:
		p.arithmetic(x.X)
	case *syntax.ArithmCmd:
		p.arithmetic(x.X)
	case *syntax.CStyleLoop:
		p.arithmetic(x.Init, x.Cond, x.Post)
	case *syntax.LetClause:
		for _, e := range x.Exprs {
			p.arithmetic(e)
		}
	case *syntax.ArrayElem:
		p.arithmetic(x.Index)
	case *syntax.BinaryTest:
		p.comparison(x)
	case *syntax.UnaryTest:
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) {
			p.variable("[[ -v", p.word(w, true))
		}
		if w, ok := x.X.(*syntax.Word); ok && x.Op != syntax.TsEmpStr && x.Op != syntax.TsNempStr {
			p.tested = append(p.tested, p.word(w, true))
		}
	case *syntax.ParamExp:
		p.expansion(x)
	case *syntax.Assign:
		p.arithmetic(x.Index)
		if x.Name != nil {
			p.assign(x.Name.Value, p.value(x), false)
		}
	case *syntax.WordIter:
		p.assign(x.Name.Value, oneWord, false)
	case *syntax.Redirect:
		if x.N != nil { // exec {NAME}<file
			p.assign(strings.Trim(x.N.Value, "{}"), oneWord, false)
		}
	case *syntax.DeclClause:
		p.declaration(x)
	}
}

// numeric are expressions of numbers, and of variables that bash makes numbers of.
var numeric = regexp.MustCompile(`^(\$[#?$!]|\$\{#\w+\}|\b0[xX][0-9a-fA-F]+\b|[^$\x60\\'a-zA-Z_])*$`)

// arithmetic notes expressions in which something else stands than numbers.
func (p *parser) arithmetic(expressions ...syntax.Node) {
	for _, x := range expressions {
		if x != nil && !numeric.MatchString(p.text(x)) {
			p.unresolved("a variable in arithmetic may run a command: it is not known to be a number")
		}
	}
}

// text is a part of the line as it is written.
func (p *parser) text(node syntax.Node) string {
	return p.source[node.Pos().Offset():node.End().Offset()]
}

// comparison looks at a test that takes both sides for arithmetic.
func (p *parser) comparison(x *syntax.BinaryTest) {
	switch x.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		p.arithmetic(x.X, x.Y)
	}
}

// expansion looks at what an expansion of a variable evaluates once more, or sets.
func (p *parser) expansion(x *syntax.ParamExp) {
	p.arithmetic(x.Index)
	if x.Slice != nil {
		p.arithmetic(x.Slice.Offset, x.Slice.Length)
	}
	if x.Excl {
		p.unresolved("an expansion of the variable that a variable names may run a command")
	}
	if x.Exp == nil {
		return
	}
	switch x.Exp.Op {
	case syntax.OtherParamOps:
		if op := x.Exp.Word.Lit(); op == "" || !strings.Contains("QUuL", op) {
			p.unresolved("an expansion with @%s may run a command", op)
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if x.Param != nil {
			p.assign(x.Param.Value, oneWord, false)
		}
	}
}

// declaration looks at declare, export and their like.
func (p *parser) declaration(x *syntax.DeclClause) {
	exports := x.Variant.Value == "export"
	for _, a := range x.Args {
		if a.Name != nil {
			p.assign(a.Name.Value, p.value(a), exports)
			continue
		}
		word := p.word(a.Value, false)
		switch {
		case !strings.HasPrefix(word, "-"):
			p.declare(x.Variant.Value, word, exports)
		case strings.ContainsAny(word, "in") || known(word) != word:
			p.unresolved("%s %s makes a number or a name of a text, which may run a command",
				x.Variant.Value, shown(word))
		default:
			exports = exports || strings.Contains(word, "x")
		}
	}
}

// declare looks at a word that a builtin takes for NAME or NAME=value.
func (p *parser) declare(by, word string, exports bool) {
	name, value, given := strings.Cut(word, "=")
	if !given {
		value = oneWord
	}
	p.variable(by, name)
	p.assign(name, value, exports)
}

var (
	plainName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	indexed   = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*(\[[0-9@*]+\])?\+?$`)
)

// variable notes a word that a builtin takes for the name of a variable, if it may hold an index
// that runs a command.
func (p *parser) variable(by, name string) {
	if !indexed.MatchString(name) {
		p.unresolved("which variable %s is given is not known: an index may run a command", by)
	}
}

// test looks at the arguments of test and [ for names of variables.
func (p *parser) test(by string, args []string) {
	for i, a := range args {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case strings.Contains(a, anything),
			a == oneWord && (strings.Contains(next, "[") || next == oneWord):
			p.unresolved("what %s tests is not known: an index may run a command", by)
			return
		case a == "-v" || a == "-R":
			p.variable(by, next)
		}
	}
}

// assign notes a variable that is set, and given to commands if it is exported, unless no command
// does anything else for it.
func (p *parser) assign(name, value string, exported bool) {
	switch {
	case harmless.MatchString(name):
	case changing.MatchString(name):
		keeps := name == "PATH" && strings.HasPrefix(value, kept) ||
			strings.HasSuffix(name, "PAGER") && (value == "cat" || value == "" || value == "less") ||
			strings.HasSuffix(name, "EDITOR") && (value == "true" || value == ":")
		if !keeps {
			p.unresolved("setting %s changes what commands do", shown(name))
		}
	case !exported, figure.MatchString(value):
	case oneName.MatchString(value) && !telling.MatchString(strings.ToUpper(name)):
	default:
		p.unresolved("setting %s may change what commands do", shown(name))
	}
}

// kept is how a value begins that keeps what was there at its beginning: PATH=$PATH:/x.
const kept = oneWord + ":"

// value is what a variable is set to; unknown if it is only named.
func (p *parser) value(a *syntax.Assign) string {
	if a.Naked || a.Array != nil {
		return oneWord
	}
	if a.Value == nil {
		return ""
	}
	text := strings.TrimPrefix(p.text(a.Value), `"`)
	if strings.HasPrefix(text, "$PATH:") || strings.HasPrefix(text, "${PATH}:") {
		return kept
	}
	return p.word(a.Value, false)
}

var (
	// harmless are variables for which no command runs anything else, or writes elsewhere, whatever
	// their value is.
	harmless = regexp.MustCompile(`^(LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|` +
		`CLICOLOR(_FORCE)?|CI|DEBUG|VERBOSE|PORT|VERSION|(NODE|APP|RAILS|RACK|FLASK|MIX)_ENV|` +
		`GOOS|GOARCH|GOARM|GOAMD64|CGO_ENABLED|GO111MODULE|GOMAXPROCS|GOGC|GOMEMLIMIT|GOTRACEBACK|` +
		`PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|RUST_BACKTRACE|RUST_LOG|DEBIAN_FRONTEND|` +
		`GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS)$`)

	// changing are variables that change what commands do. A shell passes them on if it was given
	// them, so they count without export, too.
	changing = regexp.MustCompile(`^(PATH|LD_.*|DYLD_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|IFS|` +
		`GIT_.*(SSH|COMMAND|DIFF|PAGER|EDITOR|ASKPASS|CONFIG|PROXY|EXEC_PATH).*|GIT_DIR|.*PAGER|EDITOR|VISUAL|BROWSER|` +
		`LESSOPEN|LESSCLOSE|LESS|LESSKEY.*|MANOPT|PYTHON(STARTUP|PATH|HOME)|NODE_OPTIONS|RUBY(OPT|LIB)|PERL5.*|` +
		`JAVA_TOOL_OPTIONS|MAKEFLAGS|SHELL|TAR_OPTIONS|CC|CXX|AR|FC|GCCGO|PKG_CONFIG|GOFLAGS|GOENV|GOTOOLCHAIN|GOROOT|` +
		`GOAUTH|GOCACHEPROG|CGO_.*|RUSTC.*|RIPGREP_CONFIG_PATH|HOSTALIASES|CDPATH|BASH_FUNC_.*|BASH_CMDS|BASH_ALIASES|` +
		`EXECIGNORE)$`)

	// telling are parts of names that say that the value names a program, a file, a host or options.
	telling = regexp.MustCompile(`SSH|SH$|CMD|COMMAND|EXEC|PROG|RUN|WRAPPER|LAUNCHER|LINKER|COMPILER|BROWSER|AUTH|` +
		`PASS|PATH|HOME|DIR|FILE|CONF|CFG|RC$|INIT|OPT|FLAGS|ARGS|PRELOAD|LIB|LOAD|PLUGIN|HOOK|STARTUP|TRACE|STDOUT|` +
		`STDERR|HOST|PROXY|ENGINE|MODULE|TOOL|SCRIPT|PREFIX|TUNABLES|^VIM$|^GZIP$|^ZIP`)

	oneName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_+-]*$`)
	figure  = regexp.MustCompile(`^([0-9][0-9.]*|[Tt]rue|[Ff]alse|yes|no|on|off)?$`)
)
