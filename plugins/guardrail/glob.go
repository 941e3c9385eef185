package guardrail

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// globs are patterns of names: a name matches if one of them matches it, or there is none, and none that begins with !
// does.
type globs struct{ some, none []string }

func (g globs) empty() bool { return len(g.some)+len(g.none) == 0 }

func (g globs) match(name string) bool {
	for _, pattern := range g.none {
		if globMatch(pattern, name) {
			return false
		}
	}
	for _, pattern := range g.some {
		if globMatch(pattern, name) {
			return true
		}
	}
	return len(g.some) == 0
}

// String returns the globs as a policy has them.
func (g globs) String() string {
	list := slices.Clone(g.some)
	for _, name := range g.none {
		list = append(list, "!"+name)
	}
	return strings.Join(list, ", ")
}

// globMatch is path.Match, but that * spans slashes too, as ids of users and branches have them.
func globMatch(pattern, name string) bool {
	if pattern == "*" || pattern == name {
		return true
	}
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok
}

// globs reads a glob or a list of them.
func (r *reader) globs(at string, value any) (g globs) {
	var list []string
	switch v := value.(type) {
	case nil:
	case string:
		list = []string{v}
	case []string:
		list = v
	case []any:
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				r.bad(fmt.Sprintf("%s[%d]", at, i), "a glob is a text; put it in quotes")
			}
			list = append(list, text)
		}
	default:
		r.bad(at, "this wants a glob, or a list of them, in quotes")
	}
	for _, pattern := range list {
		name, excludes := strings.CutPrefix(pattern, "!")
		if _, err := path.Match(name, ""); err != nil || name == "" {
			r.bad(at, "%q is not a glob: * is any text, ? any character, [a-z] one of these", pattern)
		}
		if excludes {
			g.none = append(g.none, name)
		} else {
			g.some = append(g.some, name)
		}
	}
	return g
}

// scopeGlobs are whom a rule is about.
type scopeGlobs struct{ app, user, tenant, agent, branch, tool globs }

func (g *scopeGlobs) match(s *Scope, tenant string) bool {
	return g.app.match(s.App) && g.user.match(s.User) && g.tenant.match(tenant) && g.agent.match(s.Agent) &&
		g.branch.match(s.Branch) && g.tool.match(s.Tool)
}

// other says what the first thing is that does not match.
func (g *scopeGlobs) other(s *Scope, tenant string) string {
	for _, is := range []struct {
		what, name string
		globs
	}{{"app", s.App, g.app}, {"user", s.User, g.user}, {"tenant", tenant, g.tenant}, {"agent", s.Agent, g.agent}, {"branch", s.Branch, g.branch}} {
		if !is.match(is.name) {
			return "it is about another " + is.what + ": " + is.String()
		}
	}
	return "it is about another tool: " + g.tool.String()
}

func (g *scopeGlobs) empty() bool {
	return g.app.empty() && g.user.empty() && g.tenant.empty() && g.agent.empty() && g.branch.empty() && g.tool.empty()
}
