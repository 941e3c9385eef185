package guardrail

import (
	"context"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// running is what the plugin keeps of a run, until AfterRun.
type running struct {
	policy *Policy // the one that it began with

	mu      sync.Mutex         // of the maps; nothing is judged with it
	streams map[string]*stream // by event
	tools   map[string]*declared
}

// runKey names a run: callers may give the runs of two sessions one ID.
type runKey struct {
	session session.Key
	id      string
}

func runOf(inv *session.Invocation) runKey { return runKey{inv.Key, inv.ID} }

// running returns what there is of a run. A run begins with its first event, or model call; what comes after AfterRun,
// from others' background work, begins none.
func (g *guard) running(inv *session.Invocation, begins bool) *running {
	g.mu.Lock()
	r := g.runs[runOf(inv)]
	g.mu.Unlock()
	if r != nil {
		return r
	}
	if begins {
		g.reload()
	}
	r = &running{policy: g.policy.Load(), streams: map[string]*stream{}, tools: map[string]*declared{}}
	if begins {
		g.mu.Lock()
		defer g.mu.Unlock()
		if other := g.runs[runOf(inv)]; other != nil {
			return other
		}
		g.runs[runOf(inv)] = r
	}
	return r
}

func (g *guard) afterRun(_ context.Context, inv *session.Invocation, _ plugin.End) (out plugin.Outcome, err error) {
	defer g.recovering(&err)
	g.mu.Lock()
	delete(g.runs, runOf(inv))
	g.mu.Unlock()
	return plugin.Outcome{}, nil
}
