package agent

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/plughook/plughook/session"
)

// Find returns the agent of a name among root and those below it, nil if there is none.
func Find(root Agent, name string) Agent {
	if root.Name() == name {
		return root
	}
	if p, ok := root.(Parent); ok {
		for _, child := range p.Agents() {
			if found := Find(child, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// Check returns an error if a name of root and the agents below it cannot be an author, or is not
// its agent's alone: the log says only by name who spoke.
func Check(root Agent) error {
	seen := map[string]Agent{}
	var check func(a Agent) error
	check = func(a Agent) error {
		if a == nil {
			return errors.New("agent: an agent is nil")
		}
		name := a.Name()
		switch {
		case name == "" || name == session.User || strings.HasPrefix(name, session.PluginPrefix) ||
			strings.ContainsAny(name, ".@"):
			return fmt.Errorf("agent: an agent cannot be named %q: it is empty, the user's, a plugin's, or has a dot or an @", name)
		case seen[name] != nil && reflect.TypeOf(a).Comparable() && seen[name] == a:
			return nil // one agent, called by several
		case seen[name] != nil:
			return fmt.Errorf("agent: two agents are named %q; give each a name of its own", name)
		}
		seen[name] = a
		if p, ok := a.(Parent); ok {
			for _, child := range p.Agents() {
				if err := check(child); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return check(root)
}

// Isolated marks an element of a branch, "agent@call", whose events are a conversation of its own:
// that of an agent that was called as a tool.
const isolated = "@"

// Sees reports whether an agent of branch own is to take an event of another branch into account:
// if one branch leads to the other, and no conversation of its own (an agent's as a tool) begins in
// between.
func Sees(own, other string) bool {
	short := own
	long := other
	if len(short) > len(long) {
		short, long = long, short
	}
	rest, ok := strings.CutPrefix(long, short)
	if !ok || short != "" && rest != "" && rest[0] != '.' {
		return false
	}
	return !strings.Contains(rest, isolated)
}

// Owner returns the name of the agent that an event is of: its author, or the agent in whose place
// a plugin has made its function calls.
func Owner(e *session.Event) string {
	if strings.HasPrefix(e.Author, session.PluginPrefix) {
		notes, _ := e.CustomMetadata[session.NotesKey].(map[string]any)
		name, _ := notes["agent"].(string)
		return name
	}
	return e.Author
}
