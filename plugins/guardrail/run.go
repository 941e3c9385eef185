package guardrail

import (
	"context"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// runState is what the plugin keeps of a run, until AfterRun.
type runState struct {
	policy *enforced // the one with which the run began

	mu       sync.Mutex         // of the maps; nothing is judged while it is held
	streams  map[string]*stream // by the ids of events
	tools    map[string]*offeredTool
	unpinned map[string]*policy.Unpinned // tools whose declarations are not those that are pinned
}

// runKey names a run. Callers may give runs of two sessions the same id.
type runKey struct {
	session session.Key
	id      string
}

func runOf(inv *session.Invocation) runKey { return runKey{session: inv.Key, id: inv.ID} }

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
		unpinned: map[string]*policy.Unpinned{},
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
