package compaction

import (
	"context"
	"strings"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
)

// A Plan says what a compaction would do, and why.
type Plan = plan.Plan

// Preview returns what the command Now, with those instructions, would do to a session if it were sent after
// an invocation, without doing it. Plan.Trigger is what asks for a compaction already without the command, ""
// if nothing does. No model is asked: Plan.Text is that of a summary without one.
func (c Config) Preview(ctx context.Context, inv *session.Invocation, instructions string) (*Plan, error) {
	c.Summarizer = nil
	c.Artifacts = nil
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	k := newCompactor(c)

	// Find out what the hook AfterRun of the next invocation would do.
	m := k.meter(inv.Live)
	due := k.settings.Due(m, inv.Live, "")
	cleared := 0
	if due.Clear > 0 {
		next := plan.Make(k.settings, m, inv, due)
		if next.Clears() {
			cleared = next.Cleared
		}
	}
	if due.Trigger == plan.TriggerClear {
		due.Trigger = ""
	}

	// Find out what the command would do.
	e, p, err := k.make(ctx, inv, plan.Task{Trigger: due.Trigger, Instructions: instructions})
	if err != nil {
		return p, err
	}
	p.ClearedNext = cleared
	if p.Declined != "" {
		p.Through = 0
		p.Keep = nil
	}
	if e == nil {
		return p, nil
	}
	p.Text = Text([]*session.Event{{Seq: 1, Actions: e.Actions}})
	if inv.Live[0].Marker() {
		p.Added, p.Left = plan.Differences(Text(inv.Live[:1]), p.Text)
	}
	return p, nil
}

// Compact returns the event with the compaction that brings a live view, as Text writes it, to at most
// Config.Budget tokens while the last message is being answered. It returns no event and no Plan if the view
// has no more tokens than that, and no event if the compaction is declined, as Plan.Declined says. Compact
// appends nothing.
func (c Config) Compact(ctx context.Context, inv *session.Invocation) (*session.Event, *Plan, error) {
	c.Artifacts = nil
	c, err := c.complete()
	if err != nil {
		return nil, nil, err
	}
	k := newCompactor(c)
	k.settings.TextOnly = true
	m := k.meter(inv.Live)
	if m.View(inv.Live, "") <= c.Budget {
		return nil, nil, nil
	}
	return k.make(ctx, inv, plan.Task{Trigger: "budget", Running: true, Limit: c.Budget})
}

// Text returns a live view as the text of a prompt: the summary, and then what was said, called and answered,
// event by event; of what is shortened, the beginning.
func Text(live []*session.Event) string {
	var parts []string
	cleared := meter.ClearedIn(live)
	for _, e := range live {
		if e.Marker() && e.Actions.Compaction != nil {
			for _, p := range partsOf(e.Actions.Compaction.Content) {
				parts = append(parts, p.Text)
			}
			continue
		}
		if cleared.Form(e) == meter.InPart {
			e = &session.Event{Content: cleared.Shown(e)}
		}
		text := extract.Render(e)
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}
