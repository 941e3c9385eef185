package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// changes are variables that change what commands do, or which are run, whatever else stands in the line: a shell passes
// them on if it got them.
var changes = regexp.MustCompile(`^(PATH|LD_.*|DYLD_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|GIT_.*(SSH|COMMAND|DIFF|PAGER|EDITOR|ASKPASS|CONFIG|PROXY|EXEC_PATH).*|.*PAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|PYTHON(STARTUP|PATH|HOME)|NODE_OPTIONS|RUBY(OPT|LIB)|JAVA_TOOL_OPTIONS|MAKEFLAGS|BASH_FUNC_.*|SHELL|TAR_OPTIONS|CC|CXX|AR|FC|GCCGO|PKG_CONFIG|GOFLAGS|GOENV|GOTOOLCHAIN|GOROOT|GOAUTH|GOCACHEPROG|CGO_.*|RUSTC.*|RIPGREP_CONFIG_PATH|IFS|GIT_DIR|GIT_EXTERNAL_DIFF|MANOPT|LESS|LESSKEY.*|PERL5.*|HOSTALIASES|CDPATH|BASH_CMDS|BASH_ALIASES|EXECIGNORE)$`)

var (
	// harmless are variables with which a command runs nothing else and writes nowhere else, whatever their values are.
	harmless = regexp.MustCompile(`^(LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|CI|DEBUG|VERBOSE|PORT|VERSION|(NODE|APP|RAILS|RACK|FLASK|MIX)_ENV|GOOS|GOARCH|GOARM|GOAMD64|CGO_ENABLED|GO111MODULE|GOMAXPROCS|GOGC|GOMEMLIMIT|GOTRACEBACK|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|RUST_BACKTRACE|RUST_LOG|DEBIAN_FRONTEND|GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS)$`)
	// telling are names that say that the value names a program, a file, a host or options.
	telling = regexp.MustCompile(`SSH|SH$|CMD|COMMAND|EXEC|PROG|RUN|WRAPPER|LAUNCHER|LINKER|COMPILER|BROWSER|AUTH|PASS|PATH|HOME|DIR|FILE|CONF|CFG|RC$|INIT|OPT|FLAGS|ARGS|PRELOAD|LIB|LOAD|PLUGIN|HOOK|STARTUP|TRACE|STDOUT|STDERR|HOST|PROXY|ENGINE|MODULE|TOOL|SCRIPT|PREFIX|TUNABLES|^VIM$|^GZIP$|^ZIP`)
	word    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_+-]*$`)
	figure  = regexp.MustCompile(`^([0-9][0-9.]*|[Tt]rue|[Ff]alse|yes|no|on|off)?$`)
)

// set notes an assignment that changes what runs.
func (p *parse) set(name, value string) {
	switch {
	case !changes.MatchString(name), harmless.MatchString(name):
	case name == "PATH" && strings.HasPrefix(value, oneWord+":"): // what was there comes first
	case strings.HasSuffix(name, "PAGER") && (value == "cat" || value == "" || value == "less"):
	case strings.HasSuffix(name, "EDITOR") && (value == "true" || value == ":"):
	default:
		p.unresolved("setting %s changes what commands do", name)
	}
}

// exported notes a variable that commands are given. There is no end of those that name a program to run, so what is not
// known to be harmless passes only with a value that names none.
func (p *parse) exported(name, value string) {
	switch {
	case harmless.MatchString(name), figure.MatchString(value), changes.MatchString(name): // these in set
	case word.MatchString(value) && !telling.MatchString(strings.ToUpper(name)):
	default:
		p.unresolved("setting %s may change what commands do", name)
	}
}

func (p *parse) assign(a *syntax.Assign) {
	if a.Name != nil {
		p.set(a.Name.Value, p.value(a))
	}
}

// value is what a variable is set to, unknown if it is only named. What begins with the PATH that there is stands as
// unknown and a colon.
func (p *parse) value(a *syntax.Assign) string {
	if a.Naked || a.Array != nil {
		return oneWord
	}
	if w := a.Value; w != nil && len(w.Parts) > 0 {
		parts := w.Parts
		if q, ok := parts[0].(*syntax.DblQuoted); ok && len(parts) == 1 {
			parts = q.Parts
		}
		if len(parts) > 1 {
			first, ok := parts[0].(*syntax.ParamExp)
			rest, lit := parts[1].(*syntax.Lit)
			if ok && lit && first.Param != nil && first.Param.Value == "PATH" && first.Exp == nil && strings.HasPrefix(rest.Value, ":") {
				return oneWord + ":"
			}
		}
	}
	return p.word(a.Value, false)
}

// reassigned notes what is set without an assignment: by a loop, arithmetic, a default, or a redirection.
func (p *parse) reassigned(node syntax.Node) {
	switch x := node.(type) {
	case *syntax.WordIter:
		p.set(x.Name.Value, oneWord)
	case *syntax.BinaryArithm:
		if w, ok := x.X.(*syntax.Word); ok && assigns(x.Op) {
			p.set(w.Lit(), oneWord)
		}
	case *syntax.UnaryArithm:
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Inc || x.Op == syntax.Dec) {
			p.set(w.Lit(), oneWord)
		}
	case *syntax.ParamExp:
		if x.Param != nil && x.Exp != nil && (x.Exp.Op == syntax.AssignUnset || x.Exp.Op == syntax.AssignUnsetOrNull) {
			p.set(x.Param.Value, oneWord)
		}
	case *syntax.Redirect:
		if x.N != nil {
			p.set(strings.Trim(x.N.Value, "{}"), oneWord)
		}
	}
}

// assigns says whether an operator of arithmetic is an assignment.
func assigns(op syntax.BinAritOperator) bool {
	s := op.String()
	return s != "==" && s != "!=" && s != "<=" && s != ">=" && strings.HasSuffix(s, "=")
}

// runSet notes that all variables are exported from here on, with what they are set to.
func runSet(p *parse, name string, args []string, _ *input) {
	for _, a := range args {
		switch {
		case a == "--" || a == "-":
			return
		case unsure(a), a == "allexport", a == "keyword", len(a) > 1 && a[0] == '-' && strings.ContainsAny(a, "ak"):
			p.unresolved("%s %s may pass variables to commands that are not known", name, shown(a))
			return
		}
	}
}
