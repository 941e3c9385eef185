package guardrail

import (
	"context"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/tool"
)

// toolKey names a tool of an agent.
func toolKey(agent, name string) string { return agent + "\x00" + name }

// offered keeps which tools a request offers, so that edited arguments can be checked.
func (r *runState) offered(req *model.Request) {
	if req.Config == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range req.Config.Tools {
		if t == nil {
			continue
		}
		for _, d := range t.FunctionDeclarations {
			if d == nil {
				continue
			}
			key := toolKey(req.Agent, d.Name)
			known := r.tools[key]
			if known == nil || known.declaration != d {
				r.tools[key] = newOfferedTool(d)
			}
		}
	}
}

func newOfferedTool(d *genai.FunctionDeclaration) *offeredTool {
	return &offeredTool{
		declaration: d,
		check: sync.OnceValue(func() func(context.Context, map[string]any) error {
			check, err := (&tool.Tool{Declaration: d}).Check()
			if err != nil {
				return nil
			}
			return check
		}),
	}
}

// madeUp reports whether a model has made up a function's name: the agent was offered no tool of
// that name.
func (r *runState) madeUp(agent, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tools[toolKey(agent, name)] == nil
}

// fits returns why edited arguments are not what a tool takes. It returns nil if they are, if
// nobody knows, and if those before the edit were not either: then the agent tells the model, and
// it was not the policy.
func (r *runState) fits(ctx context.Context, agent string, call *genai.FunctionCall,
	before map[string]any) error {
	r.mu.Lock()
	known := r.tools[toolKey(agent, call.Name)]
	r.mu.Unlock()
	if known == nil {
		return nil
	}
	check := known.check()
	if check == nil || check(ctx, before) != nil {
		return nil
	}
	return check(ctx, call.Args)
}
