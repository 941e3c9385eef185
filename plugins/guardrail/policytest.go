package guardrail

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/plughook/plughook/yamlfile"
)

// tests checks the form of a policy's tests.
func (r *reader) tests(list []formTest) {
	var stages, wants, rules []string
	for _, s := range Stages() {
		stages = append(stages, string(s))
	}
	for _, a := range actions {
		wants = append(wants, string(a))
	}
	for _, rule := range r.policy.rules {
		rules = append(rules, rule.id)
	}
	rules = append(rules, "limits.max_bytes")
	for i, t := range list {
		path := fmt.Sprintf("tests[%d]", i)
		if t.Used != nil {
			r.bad(path+".used", "a policy has no limits: the plugin budget counts, and has tests of its own")
		}
		if t.Name == "" || t.Stage == "" || t.Want == "" {
			r.bad(path, "a test needs name, stage and want")
			continue
		}
		r.oneOf(path+".stage", t.Stage, stages...)
		r.oneOf(path+".want", t.Want, wants...)
		if t.Rule != "" {
			r.oneOf(path+".rule", t.Rule, rules...)
		}
		for _, id := range slices.Sorted(maps.Keys(t.Judge)) {
			if !slices.Contains(r.policy.Judges(), id) {
				r.bad(path+".judge."+id, "no rule with a judge has the id %q%s", id, yamlfile.Meant(id, r.policy.Judges()))
			}
		}
		for _, values := range []struct {
			name string
			of   *map[string]any
		}{{"args", &list[i].Args}, {"state", &list[i].State}} {
			read, err := throughJSON(*values.of)
			if *values.of = read; err != nil {
				r.bad(path+"."+values.name, "this is no JSON, which it is in a run: %w", err)
			}
		}
		if t.After != "" && !Action(t.Want).edits() {
			r.bad(path+".after", "after is what becomes of an edited text, and %s edits none%s", t.Want, yamlfile.Meant("", []string{"mask", "vault", "hash", "replace", "redact"}))
		}
	}
}

// throughJSON returns values of a file as they are in a run: as JSON is read.
func throughJSON(values map[string]any) (read map[string]any, err error) {
	data, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	return read, err
}
