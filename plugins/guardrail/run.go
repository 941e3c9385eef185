package guardrail

import (
	"context"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
	"github.com/plughook/plughook/session"
)

// run returns what is kept of a run. begins says that what is at hand can begin a run: its input, a
// partial event, or the call of a model. What comes after AfterRun, from the background work of
// others, begins none, and is not kept.
func (g *guard) run(ctx context.Context, inv *session.Invocation, begins bool) *runState {
	key := runOf(inv)
	g.mu.Lock()
	r := g.runs[key]
	g.mu.Unlock()
	if r != nil {
		return r
	}
	if begins {
		g.reload(ctx)
	}
	r = &runState{
		policy:   g.policy.Load(),
		streams:  map[string]*stream{},
		tools:    map[string]*offeredTool{},
		unpinned: map[string]*pin.Tool{},
	}
	if !begins {
		return r
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	other := g.runs[key]
	if other != nil {
		return other
	}
	g.runs[key] = r
	return r
}

func (g *guard) afterRun(_ context.Context, inv *session.Invocation,
	_ plugin.End) (plugin.Outcome, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, runOf(inv))
	return plugin.Outcome{}, nil
}
