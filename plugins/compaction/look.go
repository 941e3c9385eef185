package compaction

import (
	"context"
	"strings"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// Look returns what the plugin of a configuration would do to a session after an invocation, and changes
// nothing: a nil Plan if nothing triggers it. With now it is what the command Now would do.
func Look(c Config, inv *session.Invocation, now bool) (*Plan, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	k := &keeper{Config: c}
	m := k.meter(inv.Live)
	t := task{trigger: k.triggered(m, inv.Live, "")}
	if now {
		t.trigger = command
	}
	if t.trigger == "" {
		return nil, nil
	}
	p := k.plan(m, inv, t)
	return &p, nil
}

// Measure returns the tokens of a live view as the plugin of a configuration counts them.
func Measure(c Config, live []*session.Event) int {
	k := &keeper{Config: c}
	m := k.meter(live)
	return m.view(live, "") + m.beside
}

// Fit returns the compaction that brings a live view, as Text draws it, to at most Config.Budget tokens while its last
// question is being answered. It is nil if there is none: without a Plan because the view has no more, and else
// because of what the Plan says. It is what happens before a model call.
func Fit(ctx context.Context, c Config, inv *session.Invocation) (*session.Event, *Plan, error) {
	c, err := c.complete()
	if err != nil {
		return nil, nil, err
	}
	k := &keeper{Config: c, bare: true, busy: map[session.Key]bool{}, failed: map[session.Key]int{}, metrics: newMetrics()}
	m := k.meter(inv.Live)
	if m.view(inv.Live, "") <= c.Budget {
		return nil, nil, nil
	}
	return k.make(ctx, inv, task{trigger: "budget", running: true, limit: c.Budget})
}

// Text returns the text of a live view as a prompt has it: the summary, then what was said, called and
// answered, event by event.
func Text(live []*session.Event) string {
	var parts []string
	for _, e := range live {
		if e.Marker() && e.Actions.Compaction != nil {
			for _, p := range partsOf(e.Actions.Compaction.Content) {
				parts = append(parts, p.Text)
			}
			continue
		}
		if s := extract.Render(e); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}
