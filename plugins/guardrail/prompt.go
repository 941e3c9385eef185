package guardrail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

type digest [sha256.Size]byte

// maxClean is how many contents are remembered in which nothing was found, so that a conversation is not judged anew
// with each call.
const maxClean = 4096

// beforeModel judges what a model is asked.
func (g *guard) beforeModel(ctx context.Context, inv *session.Invocation, req *model.Request) (_ plugin.Outcome, err error) {
	defer g.recovering(&err)
	r := g.running(inv, true)
	r.offered(req)
	p := r.policy
	if !slices.ContainsFunc(p.rules, func(r *rule) bool { return slices.Contains(r.stages, Prompt) }) {
		return plugin.Outcome{}, nil
	}
	request := &session.Event{Author: cmp.Or(req.Agent, "agent"), Branch: req.Branch}
	var judged []int // the numbers of the contents that were judged
	j, w := g.judge(p, inv, request, func(w *walker, j *judgment) { judged = g.request(w, p, j, req) })
	if len(j.records) == 0 && j.err == nil && !w.dirty {
		return plugin.Outcome{}, nil
	}
	if len(j.records) > 0 || j.err != nil {
		g.report(ctx, j, "")
	}
	if it := j.strictest(func(it *judgedItem) bool { return it.verdict.Action == Block }); it != nil {
		return j.refusal(it), nil
	}
	var out plugin.Outcome
	if j.err != nil {
		out.Unchecked = j.err.Error()
	}
	if len(j.edits) > 0 || w.dirty {
		changed := req.Clone()
		w := &walker{write: true, edit: j.rewrites()}
		contents := contentsOf(changed)
		for _, i := range judged {
			w.content(contents[i], Prompt)
		}
		*req = *changed
	}
	return out, nil
}

// request goes through a request's contents, but for those that are known to be clean, and returns the others' numbers.
// Only what rules say of a text alone can be remembered.
func (g *guard) request(w *walker, p *Policy, j *judgment, req *model.Request) (judged []int) {
	w.only = Prompt
	remember := !slices.ContainsFunc(p.rules, func(r *rule) bool {
		return slices.Contains(r.stages, Prompt) && (r.when != nil || r.untrusted || !r.scope.empty() || r.window != "part")
	})
	for i, c := range contentsOf(req) {
		var sum digest
		if remember {
			sum = digestOf(p, c)
			g.mu.Lock()
			clean := g.clean[sum]
			g.mu.Unlock()
			if clean {
				continue
			}
		}
		before := j.found()
		w.content(c, Prompt)
		judged = append(judged, i)
		if remember && j.found() == before && j.err == nil && !w.dirty {
			g.mu.Lock()
			if len(g.clean) >= maxClean {
				clear(g.clean)
			}
			g.clean[sum] = true
			g.mu.Unlock()
		}
	}
	return judged
}

// digestOf is of the policy and all texts of a content.
func digestOf(p *Policy, c *genai.Content) (d digest) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s ", p.revision)
	w := &walker{edit: func(l leaf) ([]string, bool) {
		fmt.Fprintf(sum, "%q %q ", l.name, l.jsonLeaf.text)
		return nil, false
	}, begin: func(it *item) { fmt.Fprintf(sum, "%q ", it.stage) }}
	w.content(c, Prompt)
	sum.Sum(d[:0])
	return d
}

// contentsOf are the instruction and the conversation.
func contentsOf(req *model.Request) []*genai.Content {
	var list []*genai.Content
	if req.Config != nil && req.Config.SystemInstruction != nil {
		list = append(list, req.Config.SystemInstruction)
	}
	return append(list, req.Contents...)
}
