package guardrail

import (
	"maps"
	"slices"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// limits adds to a verdict the limits that are used up, by the state in the scope.
func (j *judging) limits(v *Verdict, now time.Time) {
	for _, r := range j.Policy.limits {
		if !slices.Contains(r.stages, j.stage) || !j.about(v, r) {
			continue
		}
		if list := r.numbers(j.scope.State, j.scope.Session, now); sum(list) >= r.limit.max {
			v.add(j.over(r, list, now))
		}
	}
}

// about reports whether a limit is about what is in the scope.
func (j *judging) about(v *Verdict, r *rule) bool {
	return r.scope.match(j.scope, j.tenant(j.scope)) && (!r.untrusted || j.untrusted(j.stage, j.scope)) && j.holds(v, r, "")
}

// over is the finding that a limit is used up.
func (j *judging) over(r *rule, list []number, now time.Time) Finding {
	free := r.limit.frees(list, now)
	return j.finding(Finding{Rule: r.id, Type: typeLimit, Score: 1, View: view.RawView, message: r.says(j.scope.Tool, free), free: free}, r.action, r.shadow)
}

// limitOf returns the limit with an id, nil if there is none.
func (p *Policy) limitOf(id string) *rule {
	for _, r := range p.limits {
		if r.id == id {
			return r
		}
	}
	return nil
}

// used returns a state in which so much of limits is used, by their ids.
func (p *Policy) used(state map[string]any, used map[string]int, now time.Time) map[string]any {
	if len(used) == 0 {
		return state
	}
	if state = maps.Clone(state); state == nil {
		state = map[string]any{}
	}
	for id, n := range used {
		key, _ := p.limitOf(id).key("", now)
		state[key] = float64(n)
	}
	return state
}
