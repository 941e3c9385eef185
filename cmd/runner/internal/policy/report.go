package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// replayReport is what policy replay writes.
type replayReport struct {
	Policy          string        `json:"policy"`
	Revision        string        `json:"revision"`
	Against         string        `json:"against,omitzero"`
	AgainstRevision string        `json:"againstRevision,omitzero"`
	Sessions        int           `json:"sessions"`
	Events          int           `json:"events"`
	Rules           []*ruleLine   `json:"rules"`
	Silent          []string      `json:"silent,omitzero"` // rules that found nothing
	Outcomes        []outcomeLine `json:"outcomes"`
	// OutOfShadow is Outcomes as they would be if no rule were in shadow; nil if none is.
	OutOfShadow []outcomeLine `json:"outOfShadow,omitzero"`
}

// ruleLine is what a rule does at a stage, or does otherwise.
type ruleLine struct {
	ruleDoes
	Events   int            `json:"events"`
	Sessions int            `json:"sessions"`
	Findings int            `json:"findings"` // with a change, how many more
	Types    map[string]int `json:"types"`
	Examples []example      `json:"examples,omitempty"`

	events   map[judgedEvent]bool
	sessions map[session.Key]bool
}

type ruleDoes struct {
	Rule   string        `json:"rule"`
	Stage  policy.Stage  `json:"stage"`
	Change string        `json:"change,omitzero"` // new, gone or changed
	Was    policy.Action `json:"was,omitzero"`    // of what is changed
	Action policy.Action `json:"action"`
	// Shadow says that the rule is in shadow, WasShadow that it was.
	Shadow    bool `json:"shadow,omitzero"`
	WasShadow bool `json:"wasShadow,omitzero"`
}

// outcomeLine is how many events have an outcome, or another one than before.
type outcomeLine struct {
	Was    policy.Action `json:"was,omitzero"`
	Action policy.Action `json:"action"`
	Events int           `json:"events"`
}

// line returns the line for what a rule does in an event, and counts that.
func (r *replayReport) line(does ruleDoes, in judgedEvent) *ruleLine {
	i := slices.IndexFunc(r.Rules, func(l *ruleLine) bool { return l.ruleDoes == does })
	if i < 0 {
		i = len(r.Rules)
		r.Rules = append(r.Rules, &ruleLine{
			ruleDoes: does,
			Types:    map[string]int{},
			events:   map[judgedEvent]bool{},
			sessions: map[session.Key]bool{},
		})
	}
	l := r.Rules[i]
	l.events[in] = true
	l.sessions[in.session] = true
	l.Events = len(l.events)
	l.Sessions = len(l.sessions)
	return l
}

// count adds findings (by is 1), or subtracts those of the older policy (by is -1).
func (l *ruleLine) count(findings []finding, by int) {
	for _, f := range findings {
		l.Findings += by
		l.Types[f.Type] += by
		if l.Types[f.Type] == 0 {
			delete(l.Types, f.Type)
		}
	}
}

// all reports everything that a policy finds.
func (r *replayReport) all(now *judgedEvents) {
	spoke := map[string]bool{}
	for at, findings := range now.findings {
		spoke[at.rule] = true
		for _, f := range findings {
			does := ruleDoes{
				Rule:   at.rule,
				Stage:  at.stage,
				Action: f.Would,
				Shadow: slices.Contains(now.shadow, at.rule),
			}
			r.line(does, at.judgedEvent).count([]finding{f}, 1)
		}
	}
	for _, id := range now.rules {
		if !spoke[id] {
			r.Silent = append(r.Silent, id)
		}
	}
	count := func(into *[]outcomeLine, outcomes map[judgedEvent]policy.Action) {
		for _, a := range outcomes {
			addOutcome(into, "", a, 1)
		}
		addOutcome(into, "", policy.Allow, r.Events-len(outcomes))
	}
	count(&r.Outcomes, now.outcomes(false))
	if len(now.shadow) > 0 {
		count(&r.OutOfShadow, now.outcomes(true))
	}
	r.sort(now.rules)
}

// differ reports what one policy finds otherwise than another.
func (r *replayReport) differ(was, now *judgedEvents) {
	all := maps.Clone(was.findings)
	maps.Copy(all, now.findings)
	for at := range all {
		before := was.findings[at]
		after := now.findings[at]
		does := ruleDoes{Rule: at.rule, Stage: at.stage, Action: strictest("", after)}
		if after != nil {
			does.Shadow = slices.Contains(now.shadow, at.rule)
		}
		if before != nil {
			does.Was = strictest("", before)
			does.WasShadow = slices.Contains(was.shadow, at.rule)
		}
		switch {
		case before == nil:
			does.Change = "new"
		case after == nil:
			does.Change = "gone"
			does.Action = does.Was
			does.Shadow = does.WasShadow
			does.Was = ""
			does.WasShadow = false
		case does.Shadow == does.WasShadow && sameFindings(before, after):
			continue
		default:
			does.Change = "changed"
		}
		l := r.line(does, at.judgedEvent)
		l.count(before, -1)
		l.count(after, 1)
	}
	before := was.outcomes(false)
	after := now.outcomes(false)
	events := maps.Clone(before)
	maps.Copy(events, after)
	for e := range events {
		if a, b := cmp.Or(before[e], policy.Allow), cmp.Or(after[e], policy.Allow); a != b {
			addOutcome(&r.Outcomes, a, b, 1)
		}
	}
	r.sort(slices.Concat(now.rules, was.rules))
}

// addOutcome counts events that have an outcome.
func addOutcome(list *[]outcomeLine, was, a policy.Action, n int) {
	i := slices.IndexFunc(*list, func(o outcomeLine) bool { return o.Was == was && o.Action == a })
	if i < 0 {
		i = len(*list)
		*list = append(*list, outcomeLine{Was: was, Action: a})
	}
	(*list)[i].Events += n
}

// sort puts the lines in the order of these rules, of stages, changes and strictness.
func (r *replayReport) sort(rules []string) {
	place := func(rule string) int {
		if i := slices.Index(rules, rule); i >= 0 {
			return i
		}
		return len(rules) // limits.max_bytes, on_error
	}
	slices.SortFunc(r.Rules, func(a, b *ruleLine) int {
		return cmp.Or(cmp.Compare(place(a.Rule), place(b.Rule)), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(slices.Index(policy.Stages(), a.Stage), slices.Index(policy.Stages(), b.Stage)),
			-cmp.Compare(a.Change, b.Change),
			a.Was.Compare(b.Was),
			a.Action.Compare(b.Action),
			cmp.Compare(shadowed(a.Was, a.WasShadow), shadowed(b.Was, b.WasShadow)))
	})
	for _, list := range [][]outcomeLine{r.Outcomes, r.OutOfShadow} {
		slices.SortFunc(list, func(a, b outcomeLine) int {
			return cmp.Or(a.Was.Compare(b.Was),
				a.Action.Compare(b.Action))
		})
	}
}

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
