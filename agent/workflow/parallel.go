package workflow

import (
	"context"
	"iter"
	"slices"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// Parallel returns an agent that runs agents at the same time, each in a branch of its own. They do
// not see each other's events; agents that run after them see all of these. The log has their
// events in the order in which they were yielded. If the input of an invocation answers calls of
// some of the agents, only those agents run.
func Parallel(name, description string, agents ...agent.Agent) agent.Agent {
	return &parallel{newParent(name, description, agents)}
}

type parallel struct{ parent }

func (p *parallel) Run(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		resumed := slices.DeleteFunc(slices.Clone(p.agents),
			func(a agent.Agent) bool { return !host.Resumes(a) })
		if len(resumed) == 0 {
			resumed = p.agents
		}
		var parts []agent.Part
		for _, a := range resumed {
			part := func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
				agent.Run(ctx, a, host.At(p.name).At(a.Name()), yield)
			}
			parts = append(parts, part)
		}
		agent.Together(ctx, host, yield, parts...)
	}
}
