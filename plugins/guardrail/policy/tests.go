package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/yamlfile"
)

// Tests returns the policy's own tests, which package selftest runs.
func (p *Policy) Tests() []form.Test { return slices.Clone(p.tests) }

// tests checks the form of a policy's tests, and keeps them.
func (r *reader) tests(list []form.Test) {
	var rules, judges []string
	for _, rule := range r.policy.rules {
		rules = append(rules, rule.id)
	}
	rules = append(rules, "limits.max_bytes")
	for _, j := range r.policy.Judges() {
		judges = append(judges, j.Rule)
	}
	for i := range list {
		t := &list[i]
		path := fmt.Sprintf("tests[%d]", i)
		var missing []string
		for _, key := range []struct{ name, value string }{
			{"name", t.Name},
			{"stage", string(t.Stage)},
			{"want", string(t.Want)},
		} {
			if key.value == "" {
				missing = append(missing, key.name)
			}
		}
		if missing != nil {
			r.bad(path, "a test needs name, stage and want; this one has no %s", strings.Join(missing, ", no "))
			continue
		}
		r.oneOf(path+".stage", t.Stage, stringsOf(Stages())...)
		r.oneOf(path+".want", t.Want, append(stringsOf(actions), form.WantError)...)
		if t.Rule != "" {
			r.oneOf(path+".rule", t.Rule, rules...)
		}
		for _, id := range slices.Sorted(maps.Keys(t.Judge)) {
			switch t.Judge[id].(type) {
			case bool, string:
			default:
				r.bad(path+".judge."+id, "this must be true, false, or the judge's answer as a text in quotes")
			}
			if !slices.Contains(judges, id) {
				r.bad(path+".judge."+id, "no rule with a judge has the id %q%s", id, yamlfile.Meant(id, judges))
			}
		}
		t.Args = r.asInRun(path+".args", t.Args)
		t.State = r.asInRun(path+".state", t.State)
		if t.After != "" && !Action(t.Want).edits() {
			var edits []string
			for _, a := range actions {
				if a.edits() {
					edits = append(edits, string(a))
				}
			}
			r.bad(path+".after", "after: is the text after an edit, and %s does not edit it; these actions do: %s",
				t.Want, strings.Join(edits, ", "))
		}
		t.At = r.Name() + ":" + r.At(path)
		r.policy.tests = append(r.policy.tests, *t)
	}
}

// asInRun returns values of a file as they are in a run: as JSON is read.
func (r *reader) asInRun(path string, values map[string]any) map[string]any {
	var read map[string]any
	data, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil {
		r.bad(path, "this is no JSON, which it is in a run: %w", err)
	}
	return read
}
