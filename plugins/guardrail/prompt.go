package guardrail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// beforeModel judges what a model is asked.
func (g *guard) beforeModel(ctx context.Context, inv *session.Invocation,
	req *model.Request) (out plugin.Outcome, err error) {
	defer g.recovering(&err)
	r := g.run(ctx, inv, true)
	p := r.policy
	if !p.prompt && p.Pins() == nil {
		r.offered(req)
		return plugin.Outcome{}, nil
	}

	// Compare the tools with their pins, and judge the tools and contents that are not known to be clean.
	request := &session.Event{Author: cmp.Or(req.Agent, "agent"), Branch: req.Branch}
	var judged []int // the numbers of these contents
	var tools []*judgedTool
	ev, w := g.evaluate(p, inv, request, func(w *walk.Walker, ev *evaluation) {
		w.Only = policy.Prompt
		err = g.pinTools(ev, r, req)
		r.offered(req)
		if err != nil || !p.prompt {
			return
		}
		tools, err = g.walkTools(w, ev, req)
		if err == nil {
			judged = g.walkRequest(w, ev, req)
		}
	})
	if err != nil {
		return out, err
	}
	found := len(ev.records) > 0 || ev.err != nil
	if !found && !w.Dirty {
		return plugin.Outcome{}, nil
	}
	if found {
		g.report(ctx, ev, "")
	}

	// Block the request, or edit it.
	blocked := ev.strictest(func(it *evaluatedItem) bool { return it.verdict.Action == policy.Block })
	if blocked != nil {
		return ev.refusal(blocked), nil
	}
	if ev.err != nil {
		out.Unchecked = ev.err.Error()
	}
	if len(ev.edits) > 0 || w.Dirty {
		changed := req.Clone()
		w := &walk.Walker{Write: true, Edit: ev.rewrite()}
		err := editTools(w, changed, tools)
		if err != nil {
			return out, err
		}
		contents := contentsOf(changed)
		for _, i := range judged {
			w.Content(contents[i], policy.Prompt)
		}
		*req = *changed
	}
	return out, nil
}

// judgedTool is a tool's declaration that is not known to be clean.
type judgedTool struct {
	number int            // of the declaration in its request
	object map[string]any // the declaration as JSON
}

// walkTools goes through the declarations of a request's tools, but for those that are known to be
// clean, and returns the others.
func (g *guard) walkTools(w *walk.Walker, ev *evaluation, req *model.Request) (judged []*judgedTool, err error) {
	if req.Config == nil {
		return nil, nil
	}
	number := -1
	err = replaceTools(req, func(d *genai.FunctionDeclaration) (*genai.FunctionDeclaration, error) {
		number++
		data, err := json.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("guardrail: the declaration of the tool %s cannot be read: %w", d.Name, err)
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s tool %s", ev.policy.Revision(), data))
		return d, g.unlessClean(w, ev, sum, func() error {
			object, err := jsonvalue.Object(data)
			if err != nil {
				return fmt.Errorf("guardrail: the declaration of the tool %s cannot be read: %w", d.Name, err)
			}
			w.Declaration(object)
			judged = append(judged, &judgedTool{number: number, object: object})
			return nil
		})
	})
	return judged, err
}

// editTools writes the edits of a walk into the declarations of a request. A tool in whose name, or in
// the names and types of whose parameters, something is to be hidden is taken out.
func editTools(w *walk.Walker, req *model.Request, judged []*judgedTool) error {
	if len(judged) == 0 {
		return nil
	}
	number := -1
	return replaceTools(req, func(d *genai.FunctionDeclaration) (*genai.FunctionDeclaration, error) {
		number++
		if len(judged) == 0 || judged[0].number != number {
			return d, nil
		}
		object := judged[0].object
		judged = judged[1:]
		w.Dirty = false
		spoiled := w.Declaration(object)
		switch {
		case spoiled:
			return nil, nil
		case !w.Dirty:
			return d, nil
		}
		data, err := json.Marshal(object)
		edited := &genai.FunctionDeclaration{}
		if err == nil {
			err = json.Unmarshal(data, edited)
		}
		if err != nil { // such as a description that is no text any more
			return nil, fmt.Errorf("guardrail: the declaration of the tool %s cannot be edited: %w", d.Name, err)
		}
		return edited, nil
	})
}

// unlessClean calls walk, unless it is known that nothing is found in what has this digest. If nothing is
// found, it remembers that.
func (g *guard) unlessClean(w *walk.Walker, ev *evaluation, sum digest, walk func() error) error {
	if !ev.policy.promptsAlone {
		return walk()
	}
	g.mu.Lock()
	clean := g.clean[sum]
	g.mu.Unlock()
	if clean {
		return nil
	}
	before := ev.found()
	err := walk()
	if err != nil || ev.found() != before || ev.err != nil || w.Dirty {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.clean) >= maxClean {
		clear(g.clean)
	}
	g.clean[sum] = true
	return nil
}

// walkRequest goes through the contents of a request, but for those that are known to be clean, and
// returns the others' numbers.
func (g *guard) walkRequest(w *walk.Walker, ev *evaluation, req *model.Request) (judged []int) {
	for i, c := range contentsOf(req) {
		var sum digest
		if ev.policy.promptsAlone {
			sum = digestOf(ev.policy.Policy, c)
		}
		_ = g.unlessClean(w, ev, sum, func() error { // it has no error
			w.Content(c, policy.Prompt)
			judged = append(judged, i)
			return nil
		})
	}
	return judged
}

// digestOf is the digest of a policy and of all texts of a content.
func digestOf(p *policy.Policy, c *genai.Content) (d digest) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s ", p.Revision())
	w := &walk.Walker{
		Edit: func(l walk.Leaf) ([]string, bool) {
			fmt.Fprintf(sum, "%q %q ", l.Name, l.Text)
			return nil, false
		},
		Begin: func(it *walk.Item) { fmt.Fprintf(sum, "%q ", it.Stage) },
	}
	w.Content(c, policy.Prompt)
	sum.Sum(d[:0])
	return d
}

// contentsOf returns the instruction and the conversation.
func contentsOf(req *model.Request) []*genai.Content {
	var list []*genai.Content
	if req.Config != nil && req.Config.SystemInstruction != nil {
		list = append(list, req.Config.SystemInstruction)
	}
	return append(list, req.Contents...)
}
