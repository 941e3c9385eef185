package workflow

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// Sequential returns an agent that runs agents one after the other. It ends early if one of them
// fails (its last event has an ErrorCode) or waits for an answer, or, if it is a graph, has not ended.
// The invocation that has the answer continues with that agent.
func Sequential(name, description string, agents ...agent.Agent) agent.Agent {
	return &steps{parent: newParent(name, description, agents), rounds: 1}
}

// Loop returns an agent that runs agents one after the other, again and again: until one of them
// escalates (an event has Actions.Escalate, as that of tool.ExitLoop), waits or fails, as in
// Sequential, or limit times, if limit is not 0. The agents after the one that escalated are not
// run. An invocation that continues a loop counts the rounds from one again.
func Loop(name, description string, limit int, agents ...agent.Agent) agent.Agent {
	return &steps{parent: newParent(name, description, agents), rounds: limit, loop: true}
}

type parent struct {
	name, description string
	agents            []agent.Agent
}

func newParent(name, description string, agents []agent.Agent) parent {
	return parent{name: name, description: description, agents: slices.Clone(agents)}
}

func (p *parent) Name() string          { return p.name }
func (p *parent) Description() string   { return p.description }
func (p *parent) Agents() []agent.Agent { return slices.Clone(p.agents) }

type steps struct {
	parent
	rounds int // 0: without limit
	loop   bool
}

func (s *steps) Run(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		first := max(0, slices.IndexFunc(s.agents, func(a agent.Agent) bool { return host.Resumes(a) }))
		for round := 0; s.rounds == 0 || round < s.rounds; round++ {
			began := host.Now().Position
			for _, a := range s.agents[first:] {
				from := host.Now().Position
				if !agent.Run(ctx, a, host, yield) {
					return
				}
				end := s.ended(host, a, from)
				g, isGraph := a.(*graph)
				if host.Waits(a) || end.failed || s.loop && end.escalated || isGraph && g.open(host) {
					return
				}
			}
			if host.Now().Position == began { // nothing has changed, and nothing will
				return
			}
			first = 0
		}
	}
}

type howEnded struct{ failed, escalated bool }

// ended says how an agent ended, by what is in the log after a position: it has failed if the last
// event of a branch is a failure. The end of a graph's node takes back the failures before in that
// node, with or without content. An escalation inside a loop below the agent has ended that loop,
// and does not count here.
func (s *steps) ended(host *agent.Host, a agent.Agent, from int64) (end howEnded) {
	failures := map[string]*session.Event{} // the last word of each branch, if it is a failure
	for _, e := range host.Now().Live {
		if e.Seq <= from || !agent.Sees(host.Branch, e.Branch) {
			continue
		}
		if e.Actions.Escalate && !loops(a, agent.Owner(e)) {
			end.escalated = true
		}
		switch {
		case e.ErrorCode != "" && len(e.FunctionResponses()) == 0:
			failures[e.Branch] = e
		case e.Content != nil || e.ErrorCode != "":
			delete(failures, e.Branch)
		}
		if e.NodeInfo != nil && e.NodeInfo.Ended && e.ErrorCode == "" {
			maps.DeleteFunc(failures, func(_ string, f *session.Event) bool { return ofNodeIn(f, e.NodeInfo.Path) })
		}
	}
	end.failed = len(failures) > 0
	return end
}

// ofNodeIn reports whether an event is of the run of a graph's node with that path, or of one inside of it.
func ofNodeIn(e *session.Event, path string) bool {
	return e.NodeInfo != nil && (e.NodeInfo.Path == path || strings.HasPrefix(e.NodeInfo.Path, path+"/"))
}

// loops reports whether a loop at or below an agent runs the one of a name.
func loops(a agent.Agent, name string) bool {
	if s, ok := a.(*steps); ok && s.loop {
		return agent.Find(a, name) != nil
	}
	p, ok := a.(agent.Parent)
	return ok && slices.ContainsFunc(p.Agents(),
		func(child agent.Agent) bool { return loops(child, name) })
}
