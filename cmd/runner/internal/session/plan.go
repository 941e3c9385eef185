package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
)

// showPlan says in words what a rewind would do, or has done.
func (p *commands) showPlan(key session.Key, plan *rewind.Plan, done bool) error {
	var b strings.Builder
	say := func(format string, args ...any) {
		b.WriteString(eventtext.Printable(fmt.Sprintf(format, args...)) + "\n")
	}
	b.WriteString(p.Style().Bold(eventtext.Printable(key.String())))
	if done {
		say(" is what it was at position %d, by the rewind at %d", plan.To, plan.Position+1)
	} else {
		say(" would be what it was at position %d; the last event is at %d", plan.To, plan.Position)
	}
	if n := len(plan.Void); n > 0 {
		turns := ""
		if plan.Turns > 0 {
			turns = ", " + phrase.Count(plan.Turns, "turn")
		}
		say("  void: %s (%s)%s, of %s", phrase.Count(n, "event"), phrase.Ranges(plan.Void), turns,
			phrase.Some("invocation", plan.Invocations))
	}
	if plan.Cut != "" {
		say("  cut off partway: invocation %s; its beginning stays", plan.Cut)
	}
	if len(plan.Rewinds) > 0 {
		say("  taken back: the rewind at %s", phrase.Ranges(plan.Rewinds))
	}
	if len(plan.Summaries) > 0 {
		say("  void too: the summary at %s", phrase.Ranges(plan.Summaries))
	}
	if n := len(plan.Back); n > 0 {
		say("  counts again: %s (%s)", phrase.Count(n, "event"), phrase.Ranges(plan.Back))
	}
	for _, c := range plan.State {
		say("  state %s: %s → %s", c.Key, valueText(c.Old), valueText(c.New))
	}
	if len(plan.Shared) > 0 {
		say("  stays as it is: %s, which sessions share", strings.Join(plan.Shared, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Artifacts)) {
		say("  stays saved: %s, version %s", name, phrase.Ranges(plan.Artifacts[name]))
	}
	list := func(what string, calls []rewind.Call) {
		if len(calls) > 0 {
			say("  %s", what)
		}
		for _, c := range calls {
			say("    %d  %s %s %s", c.Seq, c.ID, c.Name, eventtext.OneLine(eventtext.Object(c.Args), 100))
		}
	}
	list("calls that were made; what they did outside stays done:", plan.Calls)
	list("calls that wait for an answer and can no longer get one:", plan.Dropped)
	list("calls that wait for an answer again:", plan.Waiting)
	list("calls that are open again, and that the next run answers as interrupted:", plan.Interrupted)
	_, err := fmt.Fprint(p.Out, b.String())
	return err
}

// valueText returns a state value; a nil one is that of no key.
func valueText(v any) string {
	if v == nil {
		return "(none)"
	}
	return eventtext.OneLine(eventtext.JSON(v), 60)
}
