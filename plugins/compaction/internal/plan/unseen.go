package plan

import (
	"cmp"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
)

// A model that does not see the result of its call makes the call again. So a response that no model has been
// asked with since stays, with its call, and so does the message that is being answered. What of these has no
// room is cut.

// unseenIn returns the responses of a live view that no model has been asked with since: no agent that sees them
// has spoken after them. Those of a workflow's run that has ended were for the workflow.
func unseenIn(live []*session.Event, answers map[*genai.FunctionResponse]bool) map[*genai.FunctionResponse]bool {
	ended := map[*session.Event]bool{}
	for _, w := range session.NewWorkflowRuns(live).Workflows() {
		for _, e := range w.Events {
			ended[e] = !w.Open()
		}
	}
	unseen := map[*genai.FunctionResponse]bool{}
	var spoken []string // the branches of those that have spoken later
	for _, e := range slices.Backward(live) {
		if e.Content == nil || ended[e] {
			continue
		}
		seen := slices.ContainsFunc(spoken, func(branch string) bool { return agent.Sees(branch, e.Branch) })
		responses := e.FunctionResponses()
		for _, r := range responses {
			unseen[r] = answers[r] && !seen
		}
		if e.FromAgent() && len(responses) == 0 && !slices.Contains(spoken, e.Branch) {
			spoken = append(spoken, e.Branch)
		}
	}
	return unseen
}

// hasUnseen reports whether a group has a response that no model has been asked with since.
func (d *decision) hasUnseen(g *group) bool {
	return slices.ContainsFunc(g.Events, func(e *session.Event) bool {
		return slices.ContainsFunc(e.FunctionResponses(),
			func(r *genai.FunctionResponse) bool { return d.unseen[r] })
	})
}

// cuttable returns the parts that are cut to the room, of the groups that stay and are in the prompt: responses
// that no model has seen, the arguments of their calls, and the texts and files of the message that is being
// answered. A part with a signature must not be changed.
func (d *decision) cuttable() (list []result) {
	for _, g := range d.groups {
		if g.stays == "" {
			continue
		}
		unseen := d.hasUnseen(g)
		list = append(list, d.parts(g, func(e *session.Event, i int) (meter.Result, bool) {
			p := e.Content.Parts[i]
			may := e == d.question
			switch {
			case !agent.Sees(d.t.Branch, e.Branch) || len(p.ThoughtSignature) > 0:
				may = false
			case p.FunctionResponse != nil:
				may = d.unseen[p.FunctionResponse]
			case p.FunctionCall != nil:
				may = unseen
			}
			if !may {
				return meter.Result{}, false
			}
			return d.m.Cuttable(e, i)
		})...)
	}
	return list
}

// least returns how many tokens stay if what can be cut has no more than a share of them.
func (d *decision) least(share int) int {
	sum := 0
	for _, r := range d.cuts {
		if r.group.stays != "" {
			sum += r.Size
		}
	}
	return d.p.Kept - max(0, sum-share)
}

// cut cuts what can be cut, so that all that stays fits into a room, but no part to less than so many tokens. Each
// part gets the same share, and what a small one does not need is for the others.
func (d *decision) cut(room, least int) {
	slices.SortStableFunc(d.cuts, func(a, b result) int { return cmp.Compare(a.Size, b.Size) })
	for i, r := range d.cuts {
		if r.group.stays == "" || d.p.Kept <= room {
			continue
		}
		rest := 0 // what the parts that are left have now
		for _, other := range d.cuts[i:] {
			rest += other.Size
		}
		share := max(least, (room-d.p.Kept+rest)/(len(d.cuts)-i))
		if r.Size > share {
			d.change(r.group, func() { d.cuts[i].Size = d.m.Cut(r.Result, share) })
			if d.cuts[i].Size < r.Size {
				d.cuts[i].Gain -= r.Size - d.cuts[i].Size
				d.gave[r.Seq] = gaveRoom
				d.p.Cleared++
				d.p.Cut = append(d.p.Cut, r.group.Events...)
			}
		}
	}
}

// cutOnly cuts what can be cut to the room that everything else leaves, if that is at least a share of the room.
// It reports whether all is decided then: nothing is summarized.
func (d *decision) cutOnly(share int) bool {
	if d.t.Limit == 0 || d.t.Refused > 0 || d.s.TextOnly && share > 0 {
		return false
	}
	stays := map[*group]string{}
	for _, g := range d.groups {
		stays[g] = g.stays
		if g.stays == "" {
			d.stay(g, stayRoom)
		}
	}
	heading := max(0, d.m.Heading(d.inv.Live)-d.m.Head) // the summary before stays too
	room := d.room - heading - min(d.s.MinGain, d.room/8)
	if d.p.Kept > d.room-heading && d.least(share) <= room {
		d.cut(room, 0)
		if d.p.Cleared > 0 && d.p.Kept <= d.room-heading {
			d.settle()
			d.p.Kept += heading
			return true
		}
	}
	for g, why := range stays {
		d.change(g, func() { g.stays = why })
	}
	return false
}
