// Package permission decides which tools may be called, and which commands tools that run command
// lines may be given.
package permission

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/internal/glob"
	"github.com/plughook/plughook/plugins/guardrail/internal/shell"
)

// A Decision is what becomes of a call, from the most lenient to the strictest.
type Decision int

// The decisions.
const (
	Allow Decision = iota
	Ask
	Deny
)

// Lists are permissions, by what becomes of the calls that they match. Deny counts before Ask, and
// Ask before Allow, however exact they are.
type Lists struct {
	Deny, Ask, Allow []Permission
	Other            Decision // of the calls that no list matches
}

// A Permission matches calls of tools, and, if it has a pattern in brackets, those that run a
// command.
type Permission struct {
	Tool    string // a glob of tools' names
	command *shell.Pattern
}

var form = regexp.MustCompile(`^([^()]+)(?:\((.*)\))?$`)

// Parse reads a permission, such as search_* or shell(git push*).
func Parse(text string) (Permission, error) {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Permission{}, fmt.Errorf("%q is not a tool: write search_*, or shell(git push*) for what a tool is given to run", text)
	}
	p := Permission{Tool: m[1]}
	var errs []error
	if !glob.Valid(p.Tool) {
		errs = append(errs, fmt.Errorf("%q is not a glob", p.Tool))
	}
	if strings.HasSuffix(text, ")") && m[2] != "*" {
		pattern, err := shell.Compile(m[2])
		if err != nil {
			errs = append(errs, err)
		}
		p.command = &pattern
	}
	return p, errors.Join(errs...)
}

// Judge returns what becomes of a call of a tool with arguments, and why.
func (l *Lists) Judge(tool string, args map[string]any) (Decision, string) {
	var rules shell.Rules
	commands := false // a permission is about the commands of this tool
	for _, list := range []struct {
		permissions []Permission
		decision    Decision
		patterns    *[]shell.Pattern
	}{
		{permissions: l.Deny, decision: Deny, patterns: &rules.Deny},
		{permissions: l.Ask, decision: Ask, patterns: &rules.Ask},
		{permissions: l.Allow, decision: Allow, patterns: &rules.Allow},
	} {
		for _, p := range list.permissions {
			switch {
			case !glob.Match(p.Tool, tool):
			case p.command != nil:
				commands = true
				*list.patterns = append(*list.patterns, *p.command)
			case commands: // a stricter list asks for the command: all of them are in this one
				*list.patterns = append(*list.patterns, anyCommand)
			default:
				return list.decision, fmt.Sprintf("%s is in the list of the rule", tool)
			}
		}
	}
	if !commands {
		return l.Other, fmt.Sprintf("%s is in no list of the rule", tool)
	}
	return l.judgeCommands(&rules, tool, args)
}

// judgeCommands returns what becomes of a call of a tool that runs commands: the strictest that a
// line of it asks for.
func (l *Lists) judgeCommands(rules *shell.Rules, tool string,
	args map[string]any) (Decision, string) {
	lines, clear := commandsOf(args)
	decision := Allow
	reason := ""
	take := func(d Decision, why string) {
		if reason == "" || d > decision {
			decision = max(d, decision)
			reason = why
		}
	}
	for _, line := range lines {
		switch said, why := rules.Judge(line); said {
		case shell.Denied:
			take(Deny, why)
		case shell.Asked:
			take(Ask, why)
		case shell.Allowed: // another line may not be
		default:
			take(l.Other, why)
		}
	}
	if !clear {
		take(max(Ask, l.Other), fmt.Sprintf("which command %s would run is not to be seen in its arguments", tool))
	}
	return decision, reason
}

// anyCommand matches every command.
var anyCommand = func() shell.Pattern {
	p, err := shell.Compile("*")
	if err != nil {
		panic(err) // the pattern is right
	}
	return p
}()
