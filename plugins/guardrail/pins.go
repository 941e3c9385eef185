package guardrail

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// unpinned returns how a tool's declaration differs from its pin, nil if it does not. It is remembered
// by the declaration's JSON.
func (e *enforced) unpinned(d *genai.FunctionDeclaration) (*policy.Unpinned, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("guardrail: the declaration of the tool %s cannot be read: %w", d.Name, err)
	}
	sum := digest(sha256.Sum256(data))
	e.mu.Lock()
	u, known := e.compared[sum]
	e.mu.Unlock()
	if known {
		return u, nil
	}
	u, err = e.Unpinned(d)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.compared == nil || len(e.compared) >= maxClean {
		e.compared = map[digest]*policy.Unpinned{}
	}
	e.compared[sum] = u
	return u, nil
}

// pinTools puts the pinned declarations of tools in the place of those that differ from them, and takes
// out those that are not pinned. It notes them, so that a human is asked about calls of these tools.
func (g *guard) pinTools(ev *evaluation, r *runState, req *model.Request) error {
	if !r.policy.PinsTools() || req.Config == nil {
		return nil
	}
	return replaceTools(req, func(d *genai.FunctionDeclaration) (*genai.FunctionDeclaration, error) {
		u, err := r.policy.unpinned(d)
		if err != nil {
			return nil, err
		}
		first := r.differs(req.Agent, d.Name, u)
		if u == nil {
			return d, nil
		}
		if first {
			ev.recordUnpinned(policy.Prompt, u)
			g.Log.Warn("guardrail: the declaration of a tool is not the one that is pinned; if it is right: runner policy pin",
				slog.String("tool", u.Tool),
				slog.Bool("new", u.Pinned == nil),
				slog.String("policy", r.policy.Name()),
				slog.Bool("shadow", u.Shadow),
			)
		}
		if u.Shadow {
			return d, nil
		}
		return u.Pinned, nil
	})
}

// replaceTools puts what replace returns in the place of the declarations of a request; nil takes one
// out. What the request shares with others is not changed.
func replaceTools(req *model.Request,
	replace func(*genai.FunctionDeclaration) (*genai.FunctionDeclaration, error)) error {
	changed := false
	var tools []*genai.Tool
	for _, t := range req.Config.Tools {
		if t == nil || len(t.FunctionDeclarations) == 0 {
			tools = append(tools, t)
			continue
		}
		with := *t
		with.FunctionDeclarations = nil
		for _, d := range t.FunctionDeclarations {
			made := d
			if d != nil {
				var err error
				made, err = replace(d)
				if err != nil {
					return err
				}
			}
			changed = changed || made != d
			if made != nil {
				with.FunctionDeclarations = append(with.FunctionDeclarations, made)
			}
		}
		if !reflect.ValueOf(with).IsZero() { // models refuse a tool with nothing in it
			tools = append(tools, &with)
		}
	}
	if changed {
		config := *req.Config
		config.Tools = tools
		req.Config = &config
	}
	return nil
}

// differs notes how a tool of an agent differs from its pin, nil if it does not. It reports whether that
// is news in this run.
func (r *runState) differs(agent, name string, u *policy.Unpinned) (first bool) {
	key := toolKey(agent, name)
	r.mu.Lock()
	defer r.mu.Unlock()
	first = r.unpinned[key] != u
	if u == nil {
		delete(r.unpinned, key)
	} else {
		r.unpinned[key] = u
	}
	return first
}

// unpinnedTool returns how a tool of an agent differs from its pin, nil if it does not.
func (r *runState) unpinnedTool(agent, name string) *policy.Unpinned {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unpinned[toolKey(agent, name)]
}

// recordUnpinned counts a declaration that differs from its pin, or a call of its tool.
func (ev *evaluation) recordUnpinned(stage policy.Stage, u *policy.Unpinned) {
	f := policy.Finding{Rule: policy.PinRule, Type: "TOOL_CHANGED", Score: 1, Would: policy.Replace}
	if u.Pinned == nil {
		f.Type = "TOOL_NEW"
		f.Would = policy.Redact
	}
	if stage == policy.ToolArgs {
		f.Would = policy.Ask
	}
	f.Action = f.Would
	if u.Shadow {
		f.Action = policy.Allow
	}
	text := strings.Join(u.Changes, "\n")
	f.End = len(text)
	ev.record(stage, &f, text)
}

// askIfUnpinned lets a human be asked about the call at hand if its tool is not as it was pinned.
func (ev *evaluation) askIfUnpinned(tool string) {
	u := ev.unpinned(tool)
	if u == nil {
		return
	}
	ev.recordUnpinned(policy.ToolArgs, u)
	if !u.Shadow {
		ev.current.unpinned = u
	}
}

// maxHint is how much of a difference a human is shown, in bytes.
const maxHint = 2000

// pinHint is what a human who is asked about a call of such a tool is told.
func pinHint(u *policy.Unpinned) string {
	said := fmt.Sprintf("The declaration of the tool %s has changed since it was pinned; the model was shown the pinned one. -: pinned, +: now", u.Tool)
	if u.Pinned == nil {
		said = fmt.Sprintf("The tool %s is not pinned, and the model was not shown its declaration", u.Tool)
	}
	left := maxHint
	for i, line := range u.Changes {
		left -= len(line)
		if left < 0 {
			said += fmt.Sprintf("\n… and %d more lines; runner policy pin shows all", len(u.Changes)-i)
			break
		}
		said += "\n" + line
	}
	return said
}
