package compaction

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
)

// make returns the event with the compaction that a task asks for, nil if it is declined.
func (k *compactor) make(
	ctx context.Context,
	inv *session.Invocation,
	t plan.Task,
) (made *session.Event, _ *Plan, _ error) {
	p := plan.Make(k.settings, k.meter(inv.Live), inv, t)
	if p.Declined != "" {
		return nil, &p, nil
	}

	// One compaction of a session at a time. A prompt that is too long cannot wait for another one, so its
	// summary is written offline, which is fast; the other one will find that the log has moved on.
	if k.begin(inv.Key) {
		defer k.end(inv.Key)
	} else if t.Limit > 0 {
		t.Offline = true
	} else {
		p.Decline(plan.DeclineBusy, "another compaction of the session is being made")
		return nil, &p, nil
	}
	if t.Background && k.isPending(inv) {
		p.Decline(plan.DeclineBusy, "another compaction of the session is about to be appended")
		return nil, &p, nil
	}

	m := p.Meter
	if p.Clears() {
		e := k.clearEvent(ctx, inv, t, &p)
		if t.Background {
			k.setPending(inv, e)
		}
		return e, &p, nil
	}

	if t.Background && k.Summarizer != nil {
		k.drafting(inv, &p)
		defer func() {
			if k.drafted(inv, made) {
				made = nil
				p.Decline(plan.DeclineLate, "the budget was reached meanwhile; it takes the place of the summary that was written then")
			}
		}()
	}

	// Write the summaries of all branches.
	c := &session.Compaction{
		Through:  p.Through,
		Keep:     p.Keep,
		Frontier: inv.Frontier,
		Content:  &genai.Content{Role: genai.RoleUser},
	}
	// Its ID is that of the work: who makes the same summary at the same time appends nothing new. The agent
	// who spoke last goes on, although its words may be behind the summary now.
	e := &session.Event{
		ID:      fmt.Sprintf("%s:%d:%d", Name, inv.Frontier, p.Through),
		Actions: session.Actions{Compaction: c, TransferToAgent: lastSpeaker(inv.Live, p.Through)},
	}
	n := &meter.Note{
		Trigger:    t.Trigger,
		Before:     p.Before,
		Events:     len(p.Covered),
		Generation: 1,
		Fixed:      t.FixedTokens + t.AttributionTokens,
	}
	m.Remember(n, t.Refused, k.Window, t.Message)
	if before := meter.HeadNote(inv.Live); before != nil {
		n.Generation = before.Generation + 1
		n.Fixed = cmp.Or(n.Fixed, before.Fixed)
	}
	maps.DeleteFunc(m.Cleared.Saved,
		func(part meter.Part, _ bool) bool { return p.Fates[part.Seq].Stays == "" })
	err := k.writeSections(ctx, m, inv, t, &p, e, n)
	if err != nil {
		p.Decline(plan.DeclineFailed, "%v", err)
		return nil, &p, context.Cause(ctx)
	}

	// Decline after all if the summary is too long to save enough.
	summary := m.Content(c.Content)
	n.After = p.Kept + summary
	saved := min(p.Before-n.After, p.Replaced-summary)
	if saved <= 0 && t.Limit > 0 && !t.CutOnly { // perhaps cutting is enough
		t.CutOnly = true
		p = plan.Make(k.settings, k.meter(inv.Live), inv, t)
		if p.Clears() {
			return k.clearEvent(ctx, inv, t, &p), &p, nil
		}
	}
	if saved <= 0 || t.Limit == 0 && saved < p.MinGain {
		p.Decline(plan.DeclineGain,
			"the summary would leave %d of %d tokens; it must save %d (min_gain)", n.After,
			p.Before, p.MinGain)
		return nil, &p, nil
	}
	k.save(ctx, inv, m.Cleared, e)
	m.Cleared.Write(n, func(seq int64) bool { return p.Fates[seq].Stays != "" })
	e.CustomMetadata = n.Metadata()
	p.After = n.After
	if t.Background {
		k.setPending(inv, e)
	} else {
		k.overtake(inv, &p, e)
	}
	return e, &p, nil
}

// writeSections writes the summary of each branch into an event and its note. Each gets a share of
// Plan.Summary, in proportion to what it summarizes.
func (k *compactor) writeSections(
	ctx context.Context,
	m meter.Meter,
	inv *session.Invocation,
	t plan.Task,
	p *Plan,
	e *session.Event,
	n *meter.Note,
) error {
	// One deadline for the Summarizer's work on all sections.
	asking := ctx
	if k.Summarizer == nil {
		t.Offline = true
	}
	if !t.Offline {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, k.patience(ctx))
		defer cancel()
	}

	c := e.Actions.Compaction
	sections := sectionsOf(inv.Live, p.Covered)
	for branch, lines := range p.FirstLines {
		s := sections[branch]
		if s == nil {
			continue
		}
		for _, line := range lines {
			if !slices.Contains(s.pins, line) { // a late summary may have it
				s.pins = append(s.pins, line)
			}
		}
	}
	for _, e := range p.Cut {
		if s := sections[e.Branch]; s != nil && p.Fates[e.Seq].Stays != "" {
			s.cut = append(s.cut, e)
		}
	}
	room := p.Summary
	left := weigh(m, sections) // of the sections that are not written yet
	for _, branch := range slices.Sorted(maps.Keys(sections)) {
		s := sections[branch]
		budget := room
		if left > s.size {
			budget = int(float64(room) * float64(s.size) / float64(left))
		}
		pins := plan.DrawFirstLines(s.pins, min(budget/4, max(k.Keep.Tokens/2, plan.Smallest)), m.Text)
		if pins != "" {
			budget -= m.Text(pins + apart)
		}
		w, err := k.write(ctx, asking, m, s, budget, t, inv.Key)
		if err != nil {
			return err
		}
		if pins != "" {
			w.Text = pins + apart + w.Text
		}
		room = max(0, room-m.Text(w.Text))
		left -= s.size
		c.Content.Parts = append(c.Content.Parts, &genai.Part{Text: w.Text})
		c.Branches = append(c.Branches, branch)
		n.Sections = append(n.Sections, w.state)
		n.By = cmp.Or(n.By, w.by)
		n.Cost += w.Cost
		e.UsageMetadata = addUsage(e.UsageMetadata, w.Usage)
		e.ModelVersion = cmp.Or(w.Model, e.ModelVersion)
	}
	if len(c.Branches) == 1 && c.Branches[0] == "" {
		c.Branches = nil
	}
	return nil
}

// A section has what the summary of one branch is written from.
type section struct {
	pins   []string // first lines of what was kept, the oldest first
	prior  string   // the text of the summary before, without those
	state  any      // the JSON of its extract.State
	events []*session.Event
	cut    []*session.Event // events that stay, and of which the prompt has less than the whole
	size   int              // in tokens
}

// sectionsOf sorts what is covered by branch. It leaves out branches without summary and events, which would
// pile up otherwise, since runs can give their branches new names. It also leaves out the branches of agents
// that were called as tools: the caller has their answer, and nobody else sees them.
func sectionsOf(live, covered []*session.Event) map[string]*section {
	all := map[string]*section{}
	of := func(branch string) *section {
		if all[branch] == nil {
			all[branch] = &section{}
		}
		return all[branch]
	}
	of("")
	if len(live) > 0 && live[0].Marker() {
		c := live[0].Actions.Compaction
		n := meter.HeadNote(live)
		for i, p := range partsOf(c.Content) {
			branch := ""
			if i < len(c.Branches) {
				branch = c.Branches[i]
			}
			s := of(branch)
			pins, text := plan.SplitFirstLines(p.Text)
			s.pins = append(s.pins, pins...)
			s.prior = strings.TrimPrefix(s.prior+"\n"+text, "\n")
			if n != nil && i < len(n.Sections) {
				s.state = n.Sections[i]
			}
		}
	}
	for _, e := range covered {
		ofTool := strings.Contains(e.Branch, "@")
		if !ofTool {
			s := of(e.Branch)
			s.events = append(s.events, e)
		}
	}
	maps.DeleteFunc(all, func(branch string, s *section) bool {
		return branch != "" && s.prior == "" && len(s.events) == 0 && len(s.pins) == 0
	})
	return all
}

// weigh fills in the sizes of sections and returns their sum.
func weigh(m meter.Meter, sections map[string]*section) (sum int) {
	for _, s := range sections {
		s.size = m.Text(s.prior)
		for _, e := range s.events {
			s.size += m.Event(e)
		}
		sum += s.size
	}
	return sum
}

// written is the summary of a section.
type written struct {
	Summary
	state any    // the JSON of its extract.State
	by    string // offline, or the name of the model
}

// offline is who has written a summary without a model.
const offline = "offline"

// apart separates the parts of a section.
const apart = "\n\n"

// ledgerShare is the divisor for the part of a Summarizer's budget that is reserved for the ledger.
const ledgerShare = 4

// write writes the summary of a section, within a budget. It asks the Summarizer until the context asking is
// done, and then writes the summary offline.
func (k *compactor) write(
	ctx, asking context.Context,
	m meter.Meter,
	s *section,
	budget int,
	t plan.Task,
	key session.Key,
) (written, error) {
	// The state of the offline summary goes on in any case, since it has the ledger too.
	stored, _ := json.Marshal(s.state) // it was read from JSON
	state := extract.Resume(stored, s.prior)
	if t.Instructions != "" || k.Instructions != "" {
		state.Stress(k.Instructions + " " + t.Instructions)
	}
	state.Add(s.events)
	state.AddValues(s.cut)

	w := written{by: offline}
	isEmpty := len(s.events) == 0 && s.prior == ""
	if !t.Offline && !isEmpty && budget >= plan.Smallest/4 {
		prose, _ := extract.Split(s.prior)
		sum, err := k.ask(asking, key, &Request{
			Prior:        prose,
			Events:       s.events,
			Budget:       budget - budget/ledgerShare,
			Count:        m.Text,
			Instructions: strings.TrimSpace(k.Instructions + "\n" + t.Instructions),
		})
		if err == nil {
			ledger := state.Ledger(budget-m.Text(sum.Text), m.Text)
			w.Summary = *sum
			w.Text = strings.TrimSpace(sum.Text + "\n\n" + ledger)
			w.by = cmp.Or(sum.Model, "summarizer")
			w.state = meter.AsJSON(state)
			return w, nil
		}
		if ctx.Err() != nil {
			return w, context.Cause(ctx)
		}
		w.Usage = sum.Usage // failed attempts cost too
		w.Cost = sum.Cost
	}
	if len(s.events)+len(s.cut) == 0 && s.state != nil && m.Text(s.prior) <= budget { // nothing is new
		w.Text = s.prior
		w.state = s.state
		return w, nil
	}
	w.Text = state.Text(budget, m.Text)
	w.state = meter.AsJSON(state)
	return w, nil
}

func partsOf(c *genai.Content) []*genai.Part {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Parts), func(p *genai.Part) bool { return p == nil })
}

// lastSpeaker returns the agent that spoke last in the main branch up to a position, or that the conversation
// was transferred to; "" if there is none.
func lastSpeaker(live []*session.Event, through int64) (agent string) {
	known := int64(0) // the position of the event that says so
	for i, e := range live {
		_, fromPlugin := e.Plugin()
		switch {
		case i == 0 && e.Marker():
			agent = e.Actions.TransferToAgent
			known = e.Actions.Compaction.Through
		case e.Branch != "" || e.Seq > through || e.Seq <= known:
		case e.Actions.TransferToAgent != "":
			agent = e.Actions.TransferToAgent
			known = e.Seq
		case e.Author != session.User && !fromPlugin:
			agent = e.Author
			known = e.Seq
		}
	}
	return agent
}
