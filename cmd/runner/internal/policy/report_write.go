package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// shadowed names an action of a rule.
func shadowed(a policy.Action, shadow bool) string {
	if shadow {
		return string(a) + " (shadow)"
	}
	return string(a)
}

func (p *commands) writeReplay(r *replayReport) error {
	if len(r.Rules) > 0 {
		w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
		change := ""
		if r.Against != "" {
			change = "change\t"
		}
		fmt.Fprintf(w, "rule\tstage\t%saction\tevents\tsessions\tfindings\ttypes\n", change)
		for _, l := range r.Rules {
			if r.Against != "" {
				change = l.Change + "\t"
			}
			fmt.Fprintf(w, "%s\t%s\t%s%s\t%d\t%d\t%s\t%s\n", eventtext.Printable(l.Rule), l.Stage, change,
				l.does(), l.Events, l.Sessions, l.signed(l.Findings), l.types())
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(p.Out)
	}
	if err := p.writeExamples(r); err != nil {
		return err
	}
	if len(r.Silent) > 0 {
		fmt.Fprintf(p.Out, "nothing found by %s\n", eventtext.Printable(strings.Join(r.Silent, ", ")))
	}
	against := ""
	if r.Against != "" {
		against = fmt.Sprintf(" against %s (revision %s)", r.Against, r.AgainstRevision)
	}
	_, err := fmt.Fprintln(p.Out, eventtext.Printable(fmt.Sprintf("%s, %s, under %s (revision %s)%s: %s", phrase.Count(r.Sessions, "session"), phrase.Count(r.Events, "event"), r.Policy, r.Revision, against, outcomes(r.Outcomes))))
	if err == nil && len(r.OutOfShadow) > 0 {
		_, err = fmt.Fprintf(p.Out, "with no rule in shadow: %s\n", outcomes(r.OutOfShadow))
	}
	return err
}

// outcomes says what becomes of the events.
func outcomes(list []outcomeLine) string {
	var said []string
	for _, o := range list {
		what := string(o.Action)
		if o.Was != "" {
			what = fmt.Sprintf("%s → %s", o.Was, o.Action)
		}
		said = append(said, fmt.Sprintf("%s %d", what, o.Events))
	}
	if len(said) == 0 {
		return "the same becomes of all events"
	}
	return strings.Join(said, ", ")
}

// does says what the rule does.
func (l *ruleLine) does() string {
	what := shadowed(l.Action, l.Shadow)
	if was := shadowed(l.Was, l.WasShadow); l.Was != "" && was != what {
		return was + " → " + what
	}
	return what
}

// signed writes a number of findings; with its sign if it is a difference.
func (l *ruleLine) signed(n int) string {
	if l.Change == "" {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%+d", n)
}

// types says which types how often; with a change, those of which there are more or fewer.
func (l *ruleLine) types() string {
	if len(l.Types) == 0 {
		return "-"
	}
	var said []string
	for _, kind := range slices.Sorted(maps.Keys(l.Types)) {
		said = append(said, kind+" "+l.signed(l.Types[kind]))
	}
	return strings.Join(said, ", ")
}
