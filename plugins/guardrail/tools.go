package guardrail

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/internal/shell"
)

// permissions say which tools may be called, and which commands tools that run command lines may be given.
type permissions struct {
	lists map[Action][]permission
	other Action // of what no list names
}

// permission is a glob of tools' names, and maybe a pattern of the commands that they run.
type permission struct {
	tool    string
	command *shell.Pattern
}

var permissionForm = regexp.MustCompile(`^([^()]+)(?:\((.*)\))?$`)

// tools reads a rule's permissions; nil if it has none.
func (r *reader) tools(at string, f *formTools) *permissions {
	if !r.Has(at) {
		return nil
	}
	p := &permissions{lists: map[Action][]permission{}, other: Action(r.oneOf(at+".other", f.Other, string(Allow), string(Ask), string(Block)))}
	for _, list := range []struct {
		name   string
		action Action
		words  []string
	}{{"deny", Block, f.Deny}, {"ask", Ask, f.Ask}, {"allow", Allow, f.Allow}} {
		for i, word := range list.words {
			at := fmt.Sprintf("%s.%s[%d]", at, list.name, i)
			m := permissionForm.FindStringSubmatch(word)
			if m == nil {
				r.bad(at, "%q is not a tool: write search_*, or shell(git push*) for what a tool is given to run", word)
				continue
			}
			if _, err := path.Match(m[1], ""); err != nil {
				r.bad(at, "%q is not a glob", m[1])
			}
			made := permission{tool: m[1]}
			r.names(at, globs{some: m[1:2]})
			if strings.HasSuffix(word, ")") && m[2] != "*" {
				pattern, err := shell.Compile(m[2])
				if err != nil {
					r.bad(at, "%w", err)
					continue
				}
				made.command = &pattern
			}
			p.lists[list.action] = append(p.lists[list.action], made)
		}
	}
	if len(p.lists[Block])+len(p.lists[Ask]) == 0 && p.other == Allow {
		r.bad(at, "nothing is denied and nothing is asked about; say deny:, ask: or other:")
	}
	return p
}

// judge returns what becomes of a call, and why. Deny counts before ask, ask before allow, however exact they are.
func (p *permissions) judge(tool string, args map[string]any) (Action, string) {
	var rules shell.Rules
	commands := false
	for _, list := range []struct {
		action Action
		into   *[]shell.Pattern
	}{{Block, &rules.Deny}, {Ask, &rules.Ask}, {Allow, &rules.Allow}} {
		for _, permission := range p.lists[list.action] {
			switch {
			case !globMatch(permission.tool, tool):
			case permission.command == nil && !commands:
				return list.action, fmt.Sprintf("%s is in the list of the rule", tool)
			case permission.command == nil:
				*list.into = append(*list.into, anyCommand)
			default:
				commands = true
				*list.into = append(*list.into, *permission.command)
			}
		}
	}
	if !commands {
		return p.other, fmt.Sprintf("%s is in no list of the rule", tool)
	}
	lines, clear := commandsOf(args)
	action, reason := Allow, ""
	say := func(a Action, why string) {
		if reason == "" || stricter(a, action) != action {
			action, reason = stricter(a, action), why
		}
	}
	for _, line := range lines {
		switch decision, why := rules.Judge(line); decision {
		case shell.Denied:
			say(Block, why)
		case shell.Asked:
			say(Ask, why)
		case shell.Allowed: // that is what it is, unless another line is not
		default:
			say(p.other, why)
		}
	}
	if !clear {
		say(stricter(Ask, p.other), fmt.Sprintf("which command %s would run is not to be seen in its arguments", tool))
	}
	return action, reason
}

// anyCommand matches every command.
var anyCommand = func() shell.Pattern {
	p, err := shell.Compile("*")
	if err != nil {
		panic(err) // a test compiles it
	}
	return p
}()
