package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
)

// showPlan says in words what a rewind would do, or has done.
func (p *program) showPlan(key session.Key, plan *rewind.Plan, done bool) error {
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(printable(fmt.Sprintf(format, args...)) + "\n") }
	b.WriteString(styleOf(p.stdout).bold(printable(key.String())))
	if done {
		say(" is what it was at position %d, by the rewind at %d", plan.To, plan.Position+1)
	} else {
		say(" would be what it was at position %d; the last event is at %d", plan.To, plan.Position)
	}
	if n := len(plan.Void); n > 0 {
		turns := ""
		if plan.Turns > 0 {
			turns = ", " + counted(plan.Turns, "turn")
		}
		say("  void: %s (%s)%s, of %s", counted(n, "event"), ranges(plan.Void), turns, someOf("invocation", plan.Invocations))
	}
	if plan.Cut != "" {
		say("  cut: invocation %s keeps its beginning", plan.Cut)
	}
	if len(plan.Rewinds) > 0 {
		say("  taken back: the rewind at %s", ranges(plan.Rewinds))
	}
	if len(plan.Summaries) > 0 {
		say("  void too: the summary at %s", ranges(plan.Summaries))
	}
	if n := len(plan.Back); n > 0 {
		say("  counts again: %s (%s)", counted(n, "event"), ranges(plan.Back))
	}
	for _, c := range plan.State {
		say("  state %s: %s → %s", c.Key, valueText(c.Old), valueText(c.New))
	}
	if len(plan.Shared) > 0 {
		say("  stays as it is: %s, which sessions share", strings.Join(plan.Shared, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Artifacts)) {
		say("  stays saved: %s, version %s", name, ranges(plan.Artifacts[name]))
	}
	list := func(what string, calls []rewind.Call) {
		if len(calls) > 0 {
			say("  %s", what)
		}
		for _, c := range calls {
			say("    %d  %s %s %s", c.Seq, c.ID, c.Name, oneLine(objectText(c.Args), 100))
		}
	}
	list("calls that were made; what they did outside stays done:", plan.Calls)
	list("calls that wait for an answer and can no longer get one:", plan.Dropped)
	list("calls that wait for an answer again:", plan.Waiting)
	list("calls that are open again, and that the next run answers as interrupted:", plan.Interrupted)
	_, err := fmt.Fprint(p.out, b.String())
	return err
}

// counted returns a number with what it counts.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// someOf returns names, at most five of them.
func someOf(what string, names []string) string {
	rest := ""
	if n := len(names) - 5; n > 0 {
		names, rest = names[:5], fmt.Sprintf(" and %d more", n)
	}
	if len(names) != 1 {
		what += "s"
	}
	return what + " " + strings.Join(names, ", ") + rest
}

// ranges returns ascending numbers, neighbours merged, at most ten of the ranges.
func ranges(list []int64) string {
	var parts []string
	for i := 0; i < len(list); {
		last := i
		for last+1 < len(list) && list[last+1] == list[last]+1 {
			last++
		}
		if len(parts) == 10 {
			parts = append(parts, "…")
			break
		}
		if part := fmt.Sprint(list[i]); last == i {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s–%d", part, list[last]))
		}
		i = last + 1
	}
	return strings.Join(parts, ", ")
}

// valueText returns a state value; a nil one is that of no key.
func valueText(v any) string {
	if v == nil {
		return "(none)"
	}
	return oneLine(compact(v), 60)
}
