// Package permission decides which tools may be called, and what tools that run command lines may be
// given to run: which commands, and which paths these may read and write.
//
// A new form of permission, such as reads(…): read it in Parse, and collect it in Lists.Judge.
package permission

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/shell"
)

// A Decision is what becomes of a call, from the most lenient to the strictest.
type Decision int

// The decisions.
const (
	Approve Decision = iota - 1 // it passes, and nobody need be asked
	Allow
	Ask
	Deny
)

// Lists are permissions, by what becomes of the calls that they match. Deny counts before Ask, Ask before
// Approve, and Approve before Allow, however exact they are.
type Lists struct {
	Deny, Ask, Approve, Allow []Permission
	Other                     Decision // of the calls that no list matches
	// CommandTools are the tools that run command lines.
	CommandTools []CommandTool
}

// A Permission matches calls of tools, and, if it has a pattern in brackets, those that run a
// command, read or write a path, or have an effect.
type Permission struct {
	Tool    string         // a glob of tools' names
	effects shell.Effects  // what the command does
	command *shell.Pattern // what the tool is given to run
	path    *shell.Path    // what the command reads or writes
	text    string         // as it is written
}

// OfPaths reports whether the permission is about the paths that commands read or write.
func (p *Permission) OfPaths() bool { return p.path != nil }

// OfAnyTool reports whether the permission names no tool: it is about the commands of all that run some.
func (p *Permission) OfAnyTool() bool { return p.path != nil || p.effects != 0 }

// ofCommands reports whether the permission has brackets: a pattern of commands or paths, or effects.
func (p *Permission) ofCommands() bool { return p.command != nil || p.OfAnyTool() }

var form = lazyregexp.New(`^([^()]+)(?:\((.*)\))?$`)

// several matches what looks like more than one permission in a text. A comma within the brackets of the
// first one belongs to its command.
var several = lazyregexp.New(`^[^()]+\([^()]*\)\s*,\s*[\w*.-]+\(`)

// Parse reads a permission: search_* for calls of tools, shell(git push*) for what a tool is given to
// run, reads(secrets/**) and writes(/etc/**) for the paths that any tool's command reads or writes,
// effects(reads, network) for what it does. The tools that run commands are given, since no others can
// meet a permission about commands.
func Parse(text string, tools []CommandTool) (Permission, error) {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Permission{}, fmt.Errorf("%q is not a tool: write search_*, shell(git push*) for what a tool is given to run, or reads(secrets/**)", text)
	}
	if several.MatchString(text) {
		return Permission{}, fmt.Errorf("%s is two patterns: write each as a text of its own", text)
	}
	p := Permission{Tool: m[1], text: text}
	brackets := strings.HasSuffix(text, ")")
	if brackets && (p.Tool == "reads" || p.Tool == "writes" || p.Tool == "effects") {
		var path shell.Path
		var err error
		if p.Tool == "effects" {
			p.effects, err = shell.ParseEffects(m[2])
		} else {
			path, err = shell.CompilePath(m[2], p.Tool == "writes")
			p.path = &path
		}
		if err != nil {
			return p, err
		}
		if len(tools) == 0 {
			return p, fmt.Errorf("%s is about the commands that tools run, and the policy names no such tool; say which at its top, as in command_tools: {shell: {line: command}}", text)
		}
		p.Tool = "*"
		return p, nil
	}
	var errs []error
	if !glob.Valid(p.Tool) {
		errs = append(errs, fmt.Errorf("%q is no pattern of a tool's name: a [ needs its ]", p.Tool))
	}
	if !brackets || m[2] == "*" {
		return p, errors.Join(errs...)
	}

	// It is about a command: some tool has to run it.
	meets := func(t CommandTool) bool { return glob.Match(p.Tool, t.Tool) || glob.Match(t.Tool, p.Tool) }
	if !slices.ContainsFunc(tools, meets) {
		errs = append(errs, fmt.Errorf("no tool in command_tools has the name %s, so no command can meet this; say at the policy's top which argument has the command line, as in command_tools: {%s: {line: command}}",
			p.Tool, p.Tool))
	}
	pattern, err := shell.Compile(m[2])
	if err != nil {
		errs = append(errs, err)
	}
	p.command = &pattern
	return p, errors.Join(errs...)
}

// An Entry is one permission of a list.
type Entry struct {
	lists Lists // with this permission alone
	list  string
	text  string
}

// Entries returns the permissions of all lists, each by itself. An entry of allow or approve is one beside which
// everything else is denied.
func (l *Lists) Entries() (entries []Entry) {
	for _, list := range []struct {
		name        string
		permissions []Permission
	}{{"deny", l.Deny}, {"ask", l.Ask}, {"approve", l.Approve}, {"allow", l.Allow}} {
		for _, p := range list.permissions {
			e := Entry{list: list.name, text: p.text, lists: Lists{CommandTools: l.CommandTools, Other: Deny}}
			alone := []Permission{p}
			switch list.name {
			case "deny":
				e.lists.Deny = alone
				e.lists.Other = Allow
			case "ask":
				e.lists.Ask = alone
				e.lists.Other = Allow
			case "approve":
				e.lists.Approve = alone
			case "allow":
				e.lists.Allow = alone
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// Decides reports whether the entry by itself makes a decision about a call, and the one of its list.
func (e *Entry) Decides(decision Decision, tool string, args map[string]any) bool {
	made, _ := e.lists.Judge(tool, args)
	return made == decision && decision == map[string]Decision{"deny": Deny, "ask": Ask, "approve": Approve, "allow": Allow}[e.list]
}

// String is the entry as it is written, behind the name of its list.
func (e *Entry) String() string { return e.list + " " + e.text }

// Judge returns what becomes of a call of a tool with arguments, and why.
func (l *Lists) Judge(tool string, args map[string]any) (Decision, string) {
	runs, isCommand := commandTool(l.CommandTools, tool)
	var rules shell.Rules
	commands := false // a permission is about the commands of this tool
	for _, list := range []struct {
		permissions []Permission
		decision    Decision
		patterns    *[]shell.Pattern
		paths       *[]shell.Path
		any         *shell.Effects   // a command with one of them
		within      *[]shell.Effects // a command with no others
	}{
		{permissions: l.Deny, decision: Deny, patterns: &rules.Deny, paths: &rules.DenyPaths, any: &rules.DenyEffects},
		{permissions: l.Ask, decision: Ask, patterns: &rules.Ask, paths: &rules.AskPaths, any: &rules.AskEffects},
		{permissions: l.Approve, decision: Approve, patterns: &rules.Approve, within: &rules.ApproveEffects},
		{permissions: l.Allow, decision: Allow, patterns: &rules.Allow, within: &rules.AllowEffects},
	} {
		for _, p := range list.permissions {
			switch {
			case !glob.Match(p.Tool, tool) || p.ofCommands() && !isCommand:
			case p.path != nil:
				commands = true
				*list.paths = append(*list.paths, *p.path)
			case p.effects != 0:
				commands = true
				if list.within != nil {
					*list.within = append(*list.within, p.effects)
				} else {
					*list.any |= p.effects
				}
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
	return l.judgeCommands(&rules, tool, &runs, args)
}

// judgeCommands returns what becomes of a call of a tool that runs commands: the strictest that a
// line of it asks for.
func (l *Lists) judgeCommands(rules *shell.Rules, tool string, runs *CommandTool,
	args map[string]any) (Decision, string) {
	lines, clear := runs.linesOf(args)
	decision := Approve
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
		case shell.Approved: // another line may not be
			reason = cmp.Or(reason, why)
		case shell.Allowed:
			decision = max(decision, Allow)
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
