package guardrail

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// ahead is a run that has gone on before the verdicts on its input, by rules that say parallel. Until they are there,
// each of its events waits.
type ahead struct {
	hearing *hearing

	mu        sync.Mutex // nobody waits for a judge with it
	j         *judgment
	over      bool
	unchecked string // why the run goes on without them
}

// ahead asks about inputs that are in the log, or will be, before there is a verdict on them.
func (g *guard) ahead(p *Policy, inv *session.Invocation, inputs []*session.Event) *ahead {
	if len(inputs) == 0 {
		return nil
	}
	h := &ahead{}
	h.j, _ = g.judge(p.parallel, inv, inputs[len(inputs)-1], func(w *walker, j *judgment) {
		h.hearing = g.hearing(g.judges.ctx, j.decides)
		j.hearing = h.hearing
		for _, e := range inputs {
			j.event = e
			w.event(e, Input)
		}
	})
	return h
}

// begins is called with each event. With a run's input it asks the judges of rules that say parallel, and reports
// whether the run may go on before their verdicts; inputs before it that have none are asked about once more. Other events
// wait for the verdicts.
func (g *guard) begins(ctx context.Context, inv *session.Invocation, r *running, e *session.Event) (goes bool, out plugin.Outcome, err error) {
	if r.policy.parallel == nil {
		return false, out, nil
	}
	if e.Author == session.User {
		inputs := unjudgedInputs(inv.Live)
		if goes = mayGoAhead(e); goes {
			inputs = append(inputs, e)
		}
		goes = r.begins(g, inv, inputs) && goes
	}
	if !goes {
		out, err = g.verdict(ctx, inv, r)
	}
	return goes, out, err
}

// catchesUp asks about what is in the log and has no verdict, if nobody was asked when the run began: an input that was
// sent again after a crash is not offered once more.
func (g *guard) catchesUp(ctx context.Context, inv *session.Invocation, r *running) (out plugin.Outcome, err error) {
	if r.policy.parallel != nil && r.begins(g, inv, unjudgedInputs(inv.Live)) && inv.Input != nil && !mayGoAhead(inv.Input) {
		out, err = g.verdict(ctx, inv, r)
	}
	return out, err
}

// begins asks about the inputs that a run begins with, once, and reports whether it has.
func (r *running) begins(g *guard, inv *session.Invocation, inputs []*session.Event) bool {
	r.beginning.Lock()
	defer r.beginning.Unlock()
	if r.begun {
		return false
	}
	r.begun, r.ahead = true, g.ahead(r.policy, inv, inputs)
	return true
}

// mayGoAhead reports whether nothing can come of an input but events that are offered first: with a yes to a call, tools run
// at once.
func mayGoAhead(input *session.Event) bool {
	_, command := input.Command()
	return !command && len(input.Actions.RequestedToolConfirmations) == 0 && len(input.FunctionResponses()) == 0
}

// unjudgedInputs are the inputs to which nothing was said that had to wait for their verdict: it may never have come.
func unjudgedInputs(live []*session.Event) (inputs []*session.Event) {
	answered := map[string]bool{}
	for _, e := range slices.Backward(live) {
		_, mine := NoteOf(e)
		switch {
		case e.Author == session.User && !answered[e.InvocationID]:
			inputs = append(inputs, e)
		case e.Author != session.User && (mine || !strings.HasPrefix(e.Author, session.PluginPrefix)):
			answered[e.InvocationID] = true
		}
	}
	slices.Reverse(inputs)
	return inputs
}

// verdict waits for the verdicts of rules that say parallel. If they block, it is a rewind to before the input, and a
// refusal.
func (g *guard) verdict(ctx context.Context, inv *session.Invocation, r *running) (out plugin.Outcome, err error) {
	h := r.goneAhead()
	if h == nil {
		return out, nil
	}
	if err := h.hearing.wait(ctx); err != nil {
		return out, err
	}
	return g.rewinds(ctx, inv, h, nil), nil
}

// goneAhead returns the run's inputs that wait for verdicts; nil if there are none.
func (r *running) goneAhead() *ahead {
	r.beginning.Lock()
	defer r.beginning.Unlock()
	return r.ahead
}

// rewinds is verdict once nobody waits for answers any more; missed, if not nil, is what is said where there is none. It
// rewinds once, for whoever comes first.
func (g *guard) rewinds(ctx context.Context, inv *session.Invocation, h *ahead, missed error) (out plugin.Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		out.Unchecked = h.unchecked
		return out
	}
	h.over = true
	if missed != nil {
		h.hearing.miss(missed)
	}
	h.hearing.end()
	h.j.settle(h.hearing)
	h.unchecked = g.told(ctx, h.j, h.j.event.ID)
	out.Unchecked = h.unchecked
	most := h.j.strictest((*judgedItem).ends)
	if most == nil {
		return out
	}
	out = h.j.refusal(most)
	var first int64 // of the inputs that do not stay: what is refused, and what is flagged
	for _, e := range inv.Live {
		mine := inv.Input != nil && inv.Input.ID == e.ID
		if mine || slices.ContainsFunc(h.j.items, func(it *judgedItem) bool { return it.of.ID == e.ID && it.ends() && it.flagged() }) {
			first = e.Seq
			break
		}
	}
	if first > 0 {
		out.Emit = append([]*session.Event{{Actions: session.Actions{Rewind: &session.Rewind{To: first - 1}}}}, out.Emit...)
	}
	return out
}

// flagged reports whether a judge has blocked the item, and not that there was no verdict: an input of an earlier run is
// not taken back for that, but keeps runs from going on.
func (it *judgedItem) flagged() bool {
	return slices.ContainsFunc(it.verdict.Findings, func(f Finding) bool { return f.Action == Block && f.Type != typeUnjudged })
}

// leaves is verdict for a run that is over before any of its events had to wait: nobody answers the input any more, but
// it is in the log, and the next run would begin with it.
func (g *guard) leaves(ctx context.Context, inv *session.Invocation, r *running) plugin.Outcome {
	in, cancel := ctx, context.CancelFunc(func() {})
	if until, ok := ctx.Deadline(); ok { // and a quarter of the time to write what follows
		in, cancel = context.WithTimeout(ctx, time.Until(until)*3/4)
	}
	defer cancel()
	out, err := g.verdict(in, inv, r)
	if err != nil {
		out = g.rewinds(ctx, inv, r.goneAhead(), unjudged("its judge has not answered before the run was over"))
	}
	if !out.Stop || len(out.Emit) < 2 { // or the input is not in the log
		return plugin.Outcome{}
	}
	return plugin.Outcome{Emit: out.Emit, Reason: out.Reason}
}

// neverShown counts, on the refusal, what a model has said that is blocked for its input.
func (g *guard) neverShown(ctx context.Context, inv *session.Invocation, r *running, e *session.Event, out *plugin.Outcome) {
	if e.Author == session.User || !out.Stop {
		return
	}
	if e.Partial {
		r.tab.streamed(e) // and counted when the run is over
		return
	}
	j, _ := g.judge(r.policy, inv, e, func(*walker, *judgment) {})
	g.counted(inv, &out.Emit[len(out.Emit)-1].Actions, g.count(ctx, r, j))
}
