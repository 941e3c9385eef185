package agent

import (
	"errors"
	"fmt"
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
	seen := map[string]bool{}
	var check func(a Agent) error
	check = func(a Agent) error {
		if a == nil {
			return errors.New("agent: an agent is nil")
		}
		name := a.Name()
		switch {
		case name == "" || name == session.User || strings.HasPrefix(name, session.PluginPrefix) || strings.ContainsAny(name, ".@"):
			return fmt.Errorf("agent: an agent cannot be named %q: it is empty, the user's, a plugin's, or has a dot or an @", name)
		case seen[name]:
			return fmt.Errorf("agent: two agents are named %q; give each a name of its own", name)
		}
		seen[name] = true
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

// Isolated marks an element of a branch, "agent@call", whose events are a conversation of its own: that
// of an agent that was called as a tool.
const isolated = "@"

// Sees reports whether an agent of branch own is to take an event of another branch into account: if one
// branch leads to the other, and no conversation of its own (an agent's as a tool) begins in between.
func Sees(own, other string) bool {
	short, long := own, other
	if len(short) > len(long) {
		short, long = long, short
	}
	rest, ok := strings.CutPrefix(long, short)
	if !ok || short != "" && rest != "" && rest[0] != '.' {
		return false
	}
	return !strings.Contains(rest, isolated)
}

// Owner returns the name of the agent that an event is of: its author, or the agent in whose place a plugin
// has made its function calls.
func Owner(e *session.Event) string {
	if strings.HasPrefix(e.Author, session.PluginPrefix) {
		notes, _ := e.CustomMetadata[session.NotesKey].(map[string]any)
		name, _ := notes["agent"].(string)
		return name
	}
	return e.Author
}

// Resumes reports whether the run goes on with something that root, or an agent below it, was waiting for:
// its input answers one of their calls, with a human's yes or no or with the response.
func Resumes(host *Host, root Agent) bool {
	for _, c := range Answered(host) {
		if Find(root, Owner(c.Event)) != nil {
			return true
		}
	}
	return false
}

// Answered returns the calls that the run's input answers, with a human's yes or no or with the response of a
// long-running tool.
func Answered(host *Host) []session.Call {
	var answered []session.Call
	for _, c := range session.Calls(host.Now().Live) {
		if c.Event.Seq <= host.Began && (byUser(c.Verdict, host) || byUser(c.Response, host)) {
			answered = append(answered, c)
		}
	}
	return answered
}

// byUser reports whether an event is the user's, and of this run.
func byUser(e *session.Event, host *Host) bool {
	return e != nil && e.Author == session.User && e.Seq > host.Began
}

// Pending reports whether a call waits for its answer, and the agents that it concerns wait with it: it was
// made in this run, or in one that this run goes on with. Other calls that wait are left to wait, and the
// conversation goes on.
func Pending(host *Host, c session.Call) bool {
	return c.Waits() && (c.Event.Seq > host.Began || asked(host)[c.Event.InvocationID])
}

// asked returns the invocations that the run goes on with: those that asked what its input answers, those
// that asked what their inputs answered, and so on.
func asked(host *Host) map[string]bool {
	invocations := map[string]bool{}
	for _, c := range Answered(host) {
		invocations[c.Event.InvocationID] = true
	}
	calls := session.Calls(host.Now().Live)
	for n := -1; n < len(invocations); {
		n = len(invocations)
		for _, c := range calls {
			for _, answer := range []*session.Event{c.Verdict, c.Response} {
				if answer != nil && answer.Author == session.User && invocations[answer.InvocationID] {
					invocations[c.Event.InvocationID] = true
				}
			}
		}
	}
	return invocations
}

// Under reports whether a branch is, or is below, that of the conversation in which an agent answers the call
// of an id made in branch caller: an element "agent@id".
func Under(branch, caller, id string) bool {
	if caller != "" {
		caller += "."
	}
	below, ok := strings.CutPrefix(branch, caller)
	if !ok || id == "" {
		return false
	}
	name, rest, ok := strings.Cut(below, isolated)
	return ok && !strings.Contains(name, ".") && (rest == id || strings.HasPrefix(rest, id+"."))
}
