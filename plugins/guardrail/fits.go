package guardrail

import (
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/tool"
)

// declared is a tool that a model was offered.
type declared struct {
	declaration *genai.FunctionDeclaration
	check       func() func(map[string]any) error // makes it once, when it is needed; nil if the declaration is none
}

// offered keeps what a request offers, so that edited arguments can be checked.
func (r *running) offered(req *model.Request) {
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
			if key := req.Agent + "\x00" + d.Name; r.tools[key] == nil || r.tools[key].declaration != d {
				r.tools[key] = &declared{declaration: d, check: sync.OnceValue(func() func(map[string]any) error {
					check, err := (&tool.Tool{Declaration: d}).Check()
					if err != nil {
						return nil
					}
					return check
				})}
			}
		}
	}
}

// made reports whether a model has made up a name: it was offered tools, and none of that name.
func (r *running) made(agent, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tools[agent+"\x00"+name] != nil {
		return false
	}
	for key := range r.tools {
		if strings.HasPrefix(key, agent+"\x00") {
			return true
		}
	}
	return false
}

// fits returns why edited arguments are not what the tool takes; nil if they are, if those before were not either, or
// if nobody knows.
func (r *running) fits(agent string, call *genai.FunctionCall, before map[string]any) error {
	r.mu.Lock()
	d := r.tools[agent+"\x00"+call.Name]
	r.mu.Unlock()
	if d == nil {
		return nil
	}
	check := d.check()
	if check == nil || check(before) != nil {
		return nil // the agent tells the model so, and not that it was the policy
	}
	return check(call.Args)
}
