package agent

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Find returns the agent with a name: root, or an agent below it. It returns nil if there is none.
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

// Offered returns the declarations of the tools of the agent with a name: root, or an agent below it. It
// returns nil if there is no such agent, or if that agent has no method Offered, which returns them.
func Offered(root Agent, name string) []*genai.FunctionDeclaration {
	a, ok := Find(root, name).(interface {
		Offered() []*genai.FunctionDeclaration
	})
	if !ok {
		return nil
	}
	return a.Offered()
}

// Check returns an error if root or an agent below it has a name that is not allowed, or if two of
// these agents have the same name: events have nothing but the name of the agent that made them.
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
			return fmt.Errorf("agent: an agent must not be named %q: a name is not empty, is not \"user\", does not begin with \"plugin/\", and has no \".\" and no \"@\"", name)
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

// isolated marks an element of a branch, "agent@call": the separate conversation of an agent that
// was called as a tool.
const isolated = "@"

// Sees reports whether an agent in branch own should read events of branch other. It should if one
// of the branches is the beginning of the other, unless the rest of the longer one leads into the
// separate conversation of an agent that was called as a tool.
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

// Owner returns the name of the agent that an event belongs to: its author or, if a plugin made the
// event's function calls in place of an agent, that agent.
func Owner(e *session.Event) string {
	if _, emitted := e.Plugin(); emitted {
		notes, _ := e.CustomMetadata[session.NotesKey].(map[string]any)
		name, _ := notes["agent"].(string)
		return name
	}
	return e.Author
}

// LastAnswer returns the last event after a position that is an answer in a branch, or in a branch below it
// that an agent in the branch sees; nil if there is none. Text and an error are answers. Responses of
// functions are only if they are to be the answer (SkipSummarization), and of a workflow's nodes only the
// output of the workflow itself.
func LastAnswer(live []*session.Event, branch string, after int64) *session.Event {
	for i := len(live) - 1; i >= 0 && live[i].Seq > after; i-- {
		e := live[i]
		if !Sees(branch, e.Branch) || !strings.HasPrefix(e.Branch, branch) {
			continue
		}
		isAnswer := e.Text() != "" || e.ErrorCode != "" || WorkflowOutput(e)
		if len(e.FunctionResponses()) > 0 {
			isAnswer = e.Actions.SkipSummarization
		}
		if isAnswer {
			return e
		}
	}
	return nil
}

// WorkflowOutput reports whether an event has the output that a workflow has ended with: it is what the
// workflow says, without content.
func WorkflowOutput(e *session.Event) bool {
	n := e.NodeInfo
	if n == nil || !n.Ended || e.Output == nil {
		return false
	}
	own := n.Path[strings.LastIndexByte(n.Path, '/')+1:]
	name, _, _ := strings.Cut(own, "@")
	return name == e.Author
}
