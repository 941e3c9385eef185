package guardrail

import (
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// about tells of a policy.
func about(p *policy.Policy) *plugin.Policy {
	told := &plugin.Policy{
		Name:     p.Name(),
		Revision: p.Revision(),
		Release:  p.Release(),
		Try:      func(stage, text string) plugin.Trial { return try(p, policy.Stage(stage), text) },
	}
	for _, stage := range policy.Stages() {
		told.Stages = append(told.Stages, string(stage))
	}
	for _, r := range p.Rules() {
		rule := plugin.Rule{ID: r.ID, Action: string(r.Strictest()), Shadow: r.Shadow}
		for _, stage := range r.Stages {
			rule.Stages = append(rule.Stages, string(stage))
		}
		told.Rules = append(told.Rules, rule)
	}
	return told
}

// try judges a text. Rules that ask somebody do not decide.
func try(p *policy.Policy, stage policy.Stage, text string) plugin.Trial {
	v := p.Judge(stage, policy.Scope{}, text)
	t := plugin.Trial{
		Action:  string(v.Action),
		Rule:    v.Rule,
		Message: v.Message,
		Text:    v.Text,
		Silent:  map[string]string{},
		Err:     v.Err,
	}
	for _, f := range v.Findings {
		t.Findings = append(t.Findings, plugin.Finding{Rule: f.Rule, Type: f.Type, Action: string(f.Action), Start: f.Start, End: f.End})
	}
	for _, r := range p.Rules() {
		if why := r.Silent(stage, policy.Scope{}); why != "" {
			t.Silent[r.ID] = why
		}
	}
	return t
}
