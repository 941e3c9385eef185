package policy

import (
	"cmp"
	"maps"
	"slices"

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
			cmp.Compare(strictness(a.Was), strictness(b.Was)),
			cmp.Compare(strictness(a.Action), strictness(b.Action)),
			cmp.Compare(shadowed(a.Was, a.WasShadow), shadowed(b.Was, b.WasShadow)))
	})
	for _, list := range [][]outcomeLine{r.Outcomes, r.OutOfShadow} {
		slices.SortFunc(list, func(a, b outcomeLine) int {
			return cmp.Or(cmp.Compare(strictness(a.Was), strictness(b.Was)),
				cmp.Compare(strictness(a.Action), strictness(b.Action)))
		})
	}
}
