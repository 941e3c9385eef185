package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// changes are variables that change what commands do, or which are run.
var changes = regexp.MustCompile(`^(PATH|LD_.*|DYLD_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|GIT_.*(SSH|COMMAND|DIFF|PAGER|EDITOR|ASKPASS|CONFIG|PROXY|EXEC_PATH).*|.*PAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|PYTHON(STARTUP|PATH|HOME)|NODE_OPTIONS|RUBY(OPT|LIB)|JAVA_TOOL_OPTIONS|MAKEFLAGS|BASH_FUNC_.*|SHELL|TAR_OPTIONS|CC|CXX|GOFLAGS|GOENV|GOTOOLCHAIN|GOROOT|CGO_.*|RUSTC.*|RIPGREP_CONFIG_PATH|IFS|GIT_DIR|GIT_EXTERNAL_DIFF|MANOPT|LESS|LESSKEY.*|PERL5.*|HOSTALIASES)$`)

// set notes an assignment that changes what runs.
func (p *parse) set(name, value string) {
	switch {
	case !changes.MatchString(name):
	case name == "PATH" && strings.HasPrefix(value, oneWord+":"): // what was there comes first
	case strings.HasSuffix(name, "PAGER") && (value == "cat" || value == "" || value == "less"):
	case strings.HasSuffix(name, "EDITOR") && (value == "true" || value == ":"):
	default:
		p.unresolved("setting %s changes what commands do", name)
	}
}

func (p *parse) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	value := p.word(a.Value, false)
	if a.Value != nil && len(a.Value.Parts) > 1 {
		if first, ok := a.Value.Parts[0].(*syntax.ParamExp); ok && first.Param != nil && first.Param.Value == "PATH" && first.Exp == nil {
			if rest, ok := a.Value.Parts[1].(*syntax.Lit); ok && strings.HasPrefix(rest.Value, ":") {
				value = oneWord + ":"
			}
		}
	}
	if q, ok := quotedPath(a.Value); ok {
		value = q
	}
	p.set(a.Name.Value, value)
}

// quotedPath is the same within double quotes.
func quotedPath(w *syntax.Word) (string, bool) {
	if w == nil || len(w.Parts) != 1 {
		return "", false
	}
	q, ok := w.Parts[0].(*syntax.DblQuoted)
	if !ok || len(q.Parts) < 2 {
		return "", false
	}
	first, ok := q.Parts[0].(*syntax.ParamExp)
	rest, lit := q.Parts[1].(*syntax.Lit)
	return oneWord + ":", ok && lit && first.Param != nil && first.Param.Value == "PATH" && first.Exp == nil && strings.HasPrefix(rest.Value, ":")
}
