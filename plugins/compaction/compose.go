package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// compact makes the outcome with the compaction that a task asks for, or with the reason why there is none.
func (k *keeper) compact(ctx context.Context, inv *session.Invocation, t task) (plugin.Outcome, error) {
	e, p, err := k.make(ctx, inv, t)
	k.report(ctx, inv, p, e)
	if err != nil {
		return plugin.Outcome{}, err
	}
	if e == nil {
		return plugin.Outcome{Reason: p.reason()}, nil
	}
	return plugin.Outcome{Emit: []*session.Event{e}, Reason: p.reason()}, nil
}

// make makes a compaction's event, nil if it is declined.
func (k *keeper) make(ctx context.Context, inv *session.Invocation, t task) (*session.Event, *Plan, error) {
	m := k.meter(inv.Live)
	p := k.plan(m, inv, t)
	if p.Declined != "" {
		return nil, &p, nil
	}
	if !k.begin(inv.Key) {
		if t.limit == 0 {
			p.decline(Busy, "another summary of the session is being made")
			return nil, &p, nil
		}
		t.offline = true // this one cannot wait: the other will find that the log has moved on
	} else {
		defer k.end(inv.Key)
	}
	note := &note{Trigger: t.trigger, Before: p.Before, Events: len(p.Covered), Generation: 1, Factor: m.factor, Beside: m.beside}
	c := &session.Compaction{Through: p.Through, Keep: p.Keep, Frontier: inv.Frontier, Content: &genai.Content{Role: genai.RoleUser}}
	e := &session.Event{ID: fmt.Sprintf("%s:%d:%d", Name, inv.Frontier, p.Through), Actions: session.Actions{Compaction: c}}
	sections := k.sections(inv.Live, p.Covered)
	if len(inv.Live) > 0 && inv.Live[0].Marker() {
		if before := noteOf(inv.Live[0]); before != nil {
			note.Generation = before.Generation + 1
		}
	}
	if k.Summarizer != nil && !t.offline {
		c, cancel := context.WithTimeout(ctx, k.patience(ctx)) // for all sections
		defer cancel()
		t.asking = c
	}
	rest, left := p.Summary, weigh(m, sections)
	for _, branch := range slices.Sorted(maps.Keys(sections)) {
		s := sections[branch]
		share := rest
		if left > s.size {
			share = int(float64(rest) * float64(s.size) / float64(left))
		}
		made, err := k.section(ctx, m, s, share, t, inv.Key)
		if err != nil {
			p.decline(Failed, "%v", err)
			return nil, &p, context.Cause(ctx)
		}
		used := m.content(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: made.Text}}})
		rest, left = max(0, rest-used), left-s.size
		c.Content.Parts = append(c.Content.Parts, &genai.Part{Text: made.Text})
		c.Branches = append(c.Branches, branch)
		note.Sections = append(note.Sections, made.state)
		note.By, note.Cost = cmp.Or(note.By, made.by), note.Cost+made.Cost
		e.UsageMetadata, e.ModelVersion = added(e.UsageMetadata, made.Usage), cmp.Or(made.Model, e.ModelVersion)
	}
	if len(c.Branches) == 1 && c.Branches[0] == "" {
		c.Branches = nil
	}
	e.Actions.TransferToAgent = speaker(inv.Live, p.Through)
	note.After = p.Kept + m.content(c.Content)
	if gain := min(p.Before-note.After, p.gone-m.content(c.Content)); t.limit == 0 && gain < k.MinGain || gain <= 0 {
		p.decline(Gain, "the summary would leave %d of %d tokens, and it has to gain %d", note.After, p.Before, k.MinGain)
		return nil, &p, nil
	}
	e.CustomMetadata = map[string]any{noteKey: note.value()}
	p.After = note.After
	if t.late {
		k.wait(inv)
	}
	return e, &p, nil
}

// section is what one branch's summary is made of.
type section struct {
	prior  string
	state  any // of the summary before; see package extract
	events []*session.Event
	size   int
}

// made is a section's summary.
type made struct {
	Summary
	state any
	by    string
}

// sections sorts what is covered by branch. A branch of which nothing is left and nothing came has none. Of a branch whose agent was called as a tool nothing is kept: who
// called it has its answer, and nobody else sees it.
func (k *keeper) sections(live, covered []*session.Event) map[string]*section {
	all := map[string]*section{}
	of := func(branch string) *section {
		if all[branch] == nil {
			all[branch] = &section{}
		}
		return all[branch]
	}
	of("")
	if len(live) > 0 && live[0].Marker() {
		c, note := live[0].Actions.Compaction, noteOf(live[0])
		for i, p := range partsOf(c.Content) {
			branch := ""
			if i < len(c.Branches) {
				branch = c.Branches[i]
			}
			s := of(branch)
			s.prior = strings.TrimPrefix(s.prior+"\n"+p.Text, "\n")
			if note != nil && i < len(note.Sections) {
				s.state = note.Sections[i]
			}
		}
	}
	for _, e := range covered {
		if !strings.Contains(e.Branch, "@") {
			s := of(e.Branch)
			s.events = append(s.events, e)
		}
	}
	maps.DeleteFunc(all, func(branch string, s *section) bool { // else those of branches that each run names anew pile up
		return branch != "" && s.prior == "" && len(s.events) == 0
	})
	return all
}

// weigh fills in the sections' sizes and returns their sum.
func weigh(m meter, sections map[string]*section) (sum int) {
	for _, s := range sections {
		s.size = m.text(s.prior)
		for _, e := range s.events {
			s.size += m.event(e)
		}
		sum += s.size
	}
	return sum
}

func partsOf(c *genai.Content) []*genai.Part {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Parts), func(p *genai.Part) bool { return p == nil })
}

// speaker returns the agent that spoke last, or was handed over to, in everyone's branch up to a position, "" if none did.
func speaker(live []*session.Event, through int64) (name string) {
	at := int64(0)
	for i, e := range live {
		said := e.Author
		switch {
		case i == 0 && e.Marker():
			name, at = e.Actions.TransferToAgent, e.Actions.Compaction.Through
			continue
		case e.Branch != "" || e.Seq > through || e.Seq <= at:
			continue
		case e.Actions.TransferToAgent != "":
			said = e.Actions.TransferToAgent
		case said == session.User || strings.HasPrefix(said, session.PluginPrefix):
			continue
		}
		name, at = said, e.Seq
	}
	return name
}

// added adds up what models report.
func added(a, b *genai.GenerateContentResponseUsageMetadata) *genai.GenerateContentResponseUsageMetadata {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a
	sum.PromptTokenCount += b.PromptTokenCount
	sum.CandidatesTokenCount += b.CandidatesTokenCount
	sum.ThoughtsTokenCount += b.ThoughtsTokenCount
	sum.CachedContentTokenCount += b.CachedContentTokenCount
	sum.TotalTokenCount += b.TotalTokenCount
	return &sum
}

var errEmpty = errors.New("the summary is empty")
