package guardrail

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
	"github.com/plughook/plughook/session"
)

// unpinned returns how a tool's declaration differs from its pin, nil if it does not. It is remembered
// by the declaration's JSON.
func (e *enforced) unpinned(d *genai.FunctionDeclaration) (*pin.Tool, error) {
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
	u, err = e.Pins().Compare(d)
	if err != nil {
		return nil, err
	}
	if u != nil && u.State == "same" {
		u = nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.compared == nil || len(e.compared) >= maxClean {
		e.compared = map[digest]*pin.Tool{}
		e.warned = map[*pin.Tool]bool{}
	}
	e.compared[sum] = u
	return u, nil
}

// firstWarning reports whether nobody was warned yet of a declaration that differs from its pin. A person
// who says yes begins another run, and a server has many at once: one warning is enough for all of them.
func (e *enforced) firstWarning(u *pin.Tool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.warned[u]
	e.warned[u] = true
	return first
}

// pinTools puts the pinned declarations of tools in the place of those that differ from them, and takes
// out those that are not pinned. It notes them, so that a human is asked about calls of these tools.
func (g *guard) pinTools(ev *evaluation, r *runState, req *model.Request) error {
	if r.policy.Pins() == nil || req.Config == nil {
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
		}
		if first && r.policy.firstWarning(u) {
			what := "the declaration of a tool is not the one that is pinned"
			if u.Pinned == nil {
				what = "a tool is not pinned"
			}
			g.Log.Warn("guardrail: "+what+"; if it is right: runner policy pin",
				slog.String("tool", u.Name),
				slog.String("policy", r.policy.Name()),
				slog.Bool("shadow", r.policy.Shadow()),
			)
		}
		if r.policy.Shadow() {
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
func (r *runState) differs(agent, name string, u *pin.Tool) (first bool) {
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

// unpinnedTool returns how a tool of an agent differs from its pin, nil if it does not, or if nobody knows
// the tool. Where no model of the agent was offered the tool in this run, the agent says what it has: so it
// is for calls that a human approves, and for those that a workflow's node makes.
func (r *runState) unpinnedTool(inv *session.Invocation, agent, name string) (*pin.Tool, error) {
	if r.policy.Pins() == nil {
		return nil, nil
	}
	key := toolKey(agent, name)
	r.mu.Lock()
	u := r.unpinned[key]
	offered := r.tools[key] != nil
	r.mu.Unlock()
	if u != nil || offered {
		return u, nil
	}
	for _, d := range inv.Declared(agent, name) {
		u, err := r.policy.unpinned(d)
		if u != nil || err != nil {
			return u, err
		}
	}
	return nil, nil
}

// ownerOf returns the agent that an event is of: its author, or the agent in whose place a plugin has made
// the event.
func ownerOf(e *session.Event) string { return cmp.Or(plugin.NotesOf(e).Agent, e.Author) }

// recordUnpinned counts a declaration that differs from its pin, or a call of its tool.
func (ev *evaluation) recordUnpinned(stage policy.Stage, u *pin.Tool) {
	f := policy.Finding{Rule: pin.Rule, Type: "TOOL_CHANGED", Score: 1, Would: policy.Replace}
	if u.Pinned == nil {
		f.Type = "TOOL_NEW"
		f.Would = policy.Redact
	}
	if stage == policy.ToolArgs {
		f.Would = policy.Ask
	}
	f.Action = f.Would
	if ev.policy.Shadow() {
		f.Action = policy.Allow
	}
	text := strings.Join(u.Changes, "\n")
	f.End = len(text)
	ev.record(stage, &f, text)
}

// askIfUnpinned lets a human be asked about the call at hand if its tool is not as it was pinned.
func (ev *evaluation) askIfUnpinned(tool string) {
	u, err := ev.unpinned(tool)
	if err != nil {
		ev.pinErr = err
	}
	if u == nil {
		return
	}
	ev.recordUnpinned(policy.ToolArgs, u)
	if !ev.policy.Shadow() {
		ev.current.unpinned = u
	}
}

// maxHint is how much of a difference a human is shown, in bytes.
const maxHint = 2000

// approvedAsIs reports whether a human has approved a call after having been shown the tool's declaration as
// it is now. log ends with the input that approves the call.
func (g *guard) approvedAsIs(log []*session.Event, c *session.Call, u *pin.Tool) bool {
	var open session.CallTracker
	var call *session.Call // c, as the log goes on
	for _, e := range log {
		made, _ := open.Add(e)
		for _, m := range made {
			if m.Event == c.Event && m.FunctionCall == c.FunctionCall {
				call = m
			}
		}
		if call == nil || call.Decision != e || !call.Approved() {
			continue
		}
		// Tools ask for themselves, too. Their questions show no declaration.
		asked, _ := NoteOf(call.Held)
		if call.Held.Author == session.PluginPrefix+g.Name && asked.Shown[c.ID] == u.Digest {
			return true
		}
	}
	return false
}

// pinHint tells a human, who is asked about a function call, how the tool differs from its pin.
func pinHint(u *pin.Tool) string {
	said := fmt.Sprintf("The declaration of the tool %s has changed since it was pinned; the model was shown the pinned one. -: pinned, +: now", u.Name)
	if u.Pinned == nil {
		said = fmt.Sprintf("The tool %s is not pinned, and the model was not shown its declaration", u.Name)
	}
	left := maxHint
	for i, line := range u.Changes {
		left -= len(line)
		if left < 0 {
			more := "1 more line"
			if n := len(u.Changes) - i; n > 1 {
				more = fmt.Sprintf("%d more lines", n)
			}
			said += fmt.Sprintf("\n… and %s; runner policy pin shows all", more)
			break
		}
		said += "\n" + line
	}
	return said
}
