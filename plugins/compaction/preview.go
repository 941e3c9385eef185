package compaction

import (
	"context"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// Preview returns what the command Now, with those instructions, would do to a session if it were sent after an invocation,
// without doing it. Plan.Trigger is what asks for a compaction already without the command, "" if nothing does. No model is
// asked: the text in Plan.Draft is that of a summary without one.
func Preview(ctx context.Context, c Config, inv *session.Invocation, instructions string) (*Plan, error) {
	c.Summarizer = nil
	c.Artifacts = nil
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	k := newCompactor(c)

	// What the end of the next invocation does.
	m := k.meter(inv.Live)
	due := k.due(m, inv.Live, "")
	cleared := 0
	if due.clear > 0 {
		next := k.plan(m, inv, due)
		if next.clears() {
			cleared = next.cleared
		}
	}
	if due.trigger == triggerClear {
		due.trigger = ""
	}

	// What the command does.
	e, p, err := k.make(ctx, inv, task{trigger: due.trigger, instructions: instructions})
	if err != nil {
		return p, err
	}
	p.ClearedNext = cleared
	if len(inv.Live) > 0 && inv.Live[0].Marker() {
		p.Draft.Before = Text(inv.Live[:1])
	}
	if e != nil {
		p.Draft.After = Text([]*session.Event{{Seq: 1, Actions: e.Actions}})
	}
	return p, nil
}

// A SummaryDraft is a summary that was not made, and the one that it would replace; "" if there is none.
type SummaryDraft struct{ Before, After string }

// Differences returns the sentences and values that the summary would take up, and those of the summary before that it would
// leave out.
func (d SummaryDraft) Differences() (added, left []string) {
	before := statements(d.Before)
	after := statements(d.After)
	for _, s := range after {
		if !slices.Contains(before, s) {
			added = append(added, s)
		}
	}
	for _, s := range before {
		if !slices.Contains(after, s) {
			left = append(left, s)
		}
	}
	return added, left
}

// statements cuts a summary into what it says: first lines of what was kept, sentences with the first letter of their author,
// since the name may be abbreviated, single values, and records of values.
func statements(text string) []string {
	list, text := splitPins(text)
	prose, ledger := extract.Split(text)
	for row := range strings.SplitSeq(prose, "\n") {
		isDay := strings.HasPrefix(row, "[") && strings.HasSuffix(row, "]")
		if isDay {
			continue
		}
		author, said, named := strings.Cut(row, ": ")
		if !named {
			author = ""
			said = row
		}
		for _, sentence := range extract.Statements(said) {
			list = append(list, strings.TrimPrefix(author[:prefix(author, 1)]+": "+sentence, ": "))
		}
	}
	for row := range strings.SplitSeq(ledger, "\n") {
		name, values, _ := strings.Cut(row, ": ")
		switch {
		case name == "said" || name == "pasted":
			list = append(list, strings.Split(values, ", ")...)
		case values != "":
			list = append(list, row)
		}
	}
	return list
}

// Spent returns what the summary of a compaction's event has cost, in the currency of the configured prices; ok is false if
// the event is no compaction of this plugin.
func Spent(e *session.Event) (cost float64, ok bool) {
	n := noteOf(e)
	if n == nil || e.Actions.Compaction == nil {
		return 0, false
	}
	return n.Cost, true
}

// Compact returns the event with the compaction that brings a live view, as Text writes it, to at most Config.Budget
// tokens while the last message is being answered. It returns no event and no Plan if the view has no more tokens than
// that, and no event if the compaction is declined, as Plan.Declined says. Compact appends nothing.
func Compact(ctx context.Context, c Config, inv *session.Invocation) (*session.Event, *Plan, error) {
	c.Artifacts = nil
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
