package compaction

import (
	"context"
	"strings"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// Preview returns what the command Now would do to a session if it were sent after an invocation, without doing it.
// Plan.Trigger is what asks for a compaction already without the command, "" if nothing does.
func Preview(c Config, inv *session.Invocation) (*Plan, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	k := newCompactor(c)
	m := k.meter(inv.Live)
	p := k.plan(m, inv, task{trigger: k.triggered(m, inv.Live, "")})
	return &p, nil
}

// Compact returns the event with the compaction that brings a live view, as Text writes it, to at most Config.Budget
// tokens while the last message is being answered. It returns no event and no Plan if the view has no more tokens than
// that, and no event if the compaction is declined, as Plan.Declined says. Compact appends nothing.
func Compact(ctx context.Context, c Config, inv *session.Invocation) (*session.Event, *Plan, error) {
	c, err := c.complete()
	if err != nil {
		return nil, nil, err
	}
	k := newCompactor(c)
	k.measureTextOnly = true
	m := k.meter(inv.Live)
	if m.view(inv.Live, "") <= c.Budget {
		return nil, nil, nil
	}
	return k.make(ctx, inv, task{trigger: "budget", running: true, limit: c.Budget})
}

// Text returns a live view as the text of a prompt: the summary, and then what was said, called and answered, event
// by event.
func Text(live []*session.Event) string {
	var parts []string
	for _, e := range live {
		if e.Marker() && e.Actions.Compaction != nil {
			for _, p := range partsOf(e.Actions.Compaction.Content) {
				parts = append(parts, p.Text)
			}
			continue
		}
		text := extract.Render(e)
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}
