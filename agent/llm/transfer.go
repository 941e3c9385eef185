package llm

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// current returns the agent at or below a that the invocation goes on with: the one whose call the
// input answers, or else the one in the live view that spoke last or was handed over to.
func (a *llmAgent) current(host *agent.Host) agent.Agent {
	inv := host.Now()
	for _, c := range host.Answered() {
		if m := a.member(agent.Owner(c.Event)); m != nil {
			return m
		}
	}
	for e := range latestFirst(inv.Live) {
		if !agent.Sees(host.Branch, e.Branch) {
			continue
		}
		m := a.member(e.Actions.TransferToAgent)
		if m == nil {
			m = a.member(e.Author)
		}
		if m == nil {
			continue
		}
		l, ok := m.(*llmAgent)
		if !ok { // an agent of another kind answers once, and its parent goes on
			l = a.parentOf(m)
		}
		if l.staysOn(a) {
			return l
		}
		return a
	}
	return a
}

// latestFirst yields a live view in reverse order. What a compaction keeps comes after the compaction, since that
// is older than the last event that it stands for.
func latestFirst(live []*session.Event) iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) {
		kept := 0
		if len(live) > 0 && live[0].Marker() {
			c := live[0].Actions.Compaction
			kept = 1
			for kept < len(live) && live[kept].Seq <= c.Through {
				kept++
			}
		}
		for _, e := range slices.Backward(live[kept:]) {
			if !yield(e) {
				return
			}
		}
		if kept > 0 && !yield(live[0]) {
			return
		}
		for i := kept - 1; i > 0; i-- {
			if !yield(live[i]) {
				return
			}
		}
	}
}

// member returns the agent at or below a that has a name, or that runs the agent with that name as
// a part of its own. Only agents that can be handed over to are members.
func (a *llmAgent) member(name string) agent.Agent {
	if name == "" {
		return nil
	}
	if a.Name() == name {
		return a
	}
	for _, callee := range a.AgentTools {
		if agent.Find(callee, name) != nil {
			return a
		}
	}
	for _, sub := range a.SubAgents {
		if l, ok := sub.(*llmAgent); ok {
			if m := l.member(name); m != nil {
				return m
			}
		} else if agent.Find(sub, name) != nil {
			return sub
		}
	}
	return nil
}

// parentOf returns the agent at or below a that m is a sub-agent of, nil if there is none.
func (a *llmAgent) parentOf(m agent.Agent) *llmAgent {
	for _, sub := range a.SubAgents {
		if sub == m {
			return a
		}
		if l, ok := sub.(*llmAgent); ok {
			if p := l.parentOf(m); p != nil {
				return p
			}
		}
	}
	return nil
}

// staysOn reports whether the next invocation may begin with a, and not with root. It may if a, and each
// agent between a and root, can hand the conversation back to its parent.
func (a *llmAgent) staysOn(root *llmAgent) bool {
	for l := a; l != nil && l != root; l = l.parent {
		if l.NoParent {
			return false
		}
	}
	return true
}

// targets returns the agents that a can hand over to in a Run of root.
func (a *llmAgent) targets(root *llmAgent) []agent.Agent {
	list := append([]agent.Agent(nil), a.SubAgents...)
	if a == root || a.parent == nil {
		return list
	}
	if !a.NoParent {
		list = append(list, a.parent)
	}
	if !a.NoPeers {
		for _, peer := range a.parent.SubAgents {
			if peer != agent.Agent(a) {
				list = append(list, peer)
			}
		}
	}
	return list
}

// transferFunction returns the function that hands over to one of targets.
func transferFunction(targets []agent.Agent) *function {
	names := make([]any, len(targets))
	for i, t := range targets {
		names[i] = t.Name()
	}
	t := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{
			Name:        Transfer,
			Description: "Hands the conversation over to another agent, which answers from here on.",
			ParametersJsonSchema: map[string]any{
				"type":     "object",
				"required": []any{"agent_name"},
				"properties": map[string]any{
					"agent_name": map[string]any{
						"type":        "string",
						"enum":        names,
						"description": "the agent to hand over to",
					}},
			},
		},
		Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
			name, _ := call.Args["agent_name"].(string)
			call.Actions.TransferToAgent = name
			return map[string]any{"result": "handed over to " + name}, nil
		},
	}
	f, err := newFunction(t)
	if err != nil {
		panic(fmt.Sprintf("llm: %v", err)) // New has checked the names
	}
	return f
}

// transferInstruction tells the model which agents it can hand over to.
func (a *llmAgent) transferInstruction(targets []agent.Agent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are the agent %q. If another agent is better placed to answer, call %s with its name and say nothing else; otherwise answer yourself. The agents are:\n", a.Name(), Transfer)
	for _, t := range targets {
		fmt.Fprintf(&b, "- %s", t.Name())
		if d := t.Description(); d != "" {
			fmt.Fprintf(&b, ": %s", d)
		}
		if l, ok := t.(*llmAgent); ok && l == a.parent {
			b.WriteString(" (the agent that you were handed over from; hand back what is not yours)")
		}
		b.WriteString("\n")
	}
	return b.String()
}
