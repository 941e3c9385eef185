package guardrail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

type digest [sha256.Size]byte

// maxClean is how many contents are remembered in which nothing was found, so that a conversation
// is not judged again with each call of a model.
const maxClean = 4096

// beforeModel judges what a model is asked.
func (g *guard) beforeModel(ctx context.Context, inv *session.Invocation,
	req *model.Request) (out plugin.Outcome, err error) {
	defer g.recovering(&err)
	r := g.run(inv, true)
	r.offered(req)
	p := r.policy
	if !p.prompt {
		return plugin.Outcome{}, nil
	}

	// Judge the contents that are not known to be clean.
	request := &session.Event{Author: cmp.Or(req.Agent, "agent"), Branch: req.Branch}
	var judged []int // the numbers of these contents
	ev, w := g.evaluate(p, inv, request, func(w *walk.Walker, ev *evaluation) {
		w.Only = policy.Prompt
		judged = g.walkRequest(w, ev, req)
	})
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
		contents := contentsOf(changed)
		for _, i := range judged {
			w.Content(contents[i], policy.Prompt)
		}
		*req = *changed
	}
	return out, nil
}

// walkRequest goes through the contents of a request, but for those that are known to be clean, and
// returns the others' numbers.
func (g *guard) walkRequest(w *walk.Walker, ev *evaluation, req *model.Request) (judged []int) {
	remember := ev.policy.promptsAlone
	for i, c := range contentsOf(req) {
		var sum digest
		if remember {
			sum = digestOf(ev.policy.Policy, c)
			g.mu.Lock()
			clean := g.clean[sum]
			g.mu.Unlock()
			if clean {
				continue
			}
		}
		before := ev.found()
		w.Content(c, policy.Prompt)
		judged = append(judged, i)
		clean := ev.found() == before && ev.err == nil && !w.Dirty
		if !remember || !clean {
			continue
		}
		g.mu.Lock()
		if len(g.clean) >= maxClean {
			clear(g.clean)
		}
		g.clean[sum] = true
		g.mu.Unlock()
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
