package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/internal/window"
	"github.com/plughook/plughook/yamlfile"
)

// wantError is what a test wants of a text that cannot be judged, such as one for which a condition
// cannot be computed, or one about which a judge's answer is none. In a run on_error of the policy, or
// of the judge, decides about it.
const wantError = "error"

// A Result is what became of a policy's test.
type Result struct {
	Test    Test
	Verdict Verdict
	// Failure says how the verdict differs from what the test wants; "" if it does not.
	Failure string
}

// Tests returns the policy's own tests.
func (p *Policy) Tests() []Test { return slices.Clone(p.tests) }

// Test runs the policy's own tests, as if nothing were in shadow: they are about what the rules
// would do. A test whose text a judge would be asked about fails if it does not say what that judge
// answers.
func (p *Policy) Test() []Result {
	enforced := p.enforced()
	var results []Result
	for i, t := range p.tests {
		answers := assumed{answers: t.Judge}
		v := enforced.try(&t, &answers)
		unjudged := v.Err != nil || answers.failure != nil
		result := Result{Test: t, Verdict: v}
		decided := string(v.Action)
		if v.Rule != "" {
			decided = fmt.Sprintf("%s by %s", v.Action, v.Rule)
		}
		switch {
		case answers.missing != nil:
			result.Failure = fmt.Sprintf("%v (%s)", answers.missing, p.testsAt[i])
		case t.Want == wantError && !unjudged:
			result.Failure = fmt.Sprintf("it is %s, not an error: the text could be judged", decided)
		case t.Want == wantError:
		case v.Err != nil:
			result.Failure = v.Err.Error()
		case v.Action != Action(t.Want):
			result.Failure = fmt.Sprintf("it is %s, not %s", decided, t.Want)
		case t.Rule != "" && v.Rule != t.Rule:
			result.Failure = fmt.Sprintf("it is %s, not by %s", decided, t.Rule)
		case t.After != "" && v.Text != t.After:
			result.Failure = fmt.Sprintf("the text becomes %q, not %q", v.Text, t.After)
		}
		results = append(results, result)
	}
	return results
}

// try returns what becomes of a test's text, and of each text in its arguments, as in a run. For a
// call without a text beside it the verdict's text is the arguments, as JSON.
func (p *Policy) try(t *Test, answers *assumed) Verdict {
	began := time.Now()
	s := Scope{
		App:    t.App,
		User:   t.User,
		Agent:  t.Agent,
		Branch: t.Branch,
		Tool:   t.Tool,
		Args:   t.Args,
		State:  t.State,
		Files:  t.Files,
		Taint:  t.Taint,
	}
	if Stage(t.Stage) != ToolArgs || len(t.Args) == 0 {
		return p.judge(Stage(t.Stage), s, t.Text, answers)
	}
	call, args := p.judgeCall(s)
	if t.Text != "" {
		v := p.judge(ToolArgs, s, t.Text, answers)
		v.Join(&call)
		return v
	}
	p.At(&s, ToolArgs).assume(&call, args, judging.Left{Text: args}, answers)
	call.Action = cmp.Or(call.Action, Allow)
	call.Took = time.Since(began)
	return call
}

// judgeCall judges a call with the arguments of a scope, and returns those as JSON, too.
func (p *Policy) judgeCall(s Scope) (v Verdict, args string) {
	active := p.At(&s, ToolArgs)

	// Judge each text in the arguments, with its key before it, and edit it.
	var said window.Before
	texts := 0
	edited, _ := jsonvalue.Each(s.Args, "", func(l jsonvalue.Leaf) (string, bool) {
		texts++
		limit := window.Size
		if texts > window.Texts {
			limit = window.Short
		}
		before := func(w string) []string {
			name := ""
			if l.Name != "" {
				name = l.Name + ": "
			}
			if w != "part" && !said.Empty() {
				return said.Heads(name, limit)
			}
			return []string{name}
		}
		var one Verdict
		active.Find(&one, before, l.Text, nil)
		if !l.Key {
			said.Add(l.Text)
		}
		return p.conclude(&v, &one, l.Text, l.Value)
	})

	// Judge the arguments as a whole.
	args, err := inJSON(s.Args)
	if active.HasWhole() {
		var whole Verdict
		active.Whole(&whole, args)
		if active.JudgesWhole() {
			active.TooLong(&whole, args)
		}
		p.conclude(&v, &whole, args, false)
	}
	v.Revision = p.revision
	v.Err = cmp.Or(v.Err, err)
	v.Text, err = inJSON(edited)
	v.Err = cmp.Or(v.Err, err)
	return v, args
}

// conclude takes the verdict on one text of a call into that on the call. It returns the text as it
// may pass, and whether that is another.
func (p *Policy) conclude(v, one *Verdict, text string, value bool) (string, bool) {
	if one.Action == "" && one.Err == nil {
		return text, false
	}
	p.Finish(one, text)
	if one.Text != text && value && jsonvalue.Is(text) {
		one.Text = p.Edit(one, text).JSON()
	}
	v.Join(one)
	return one.Text, one.Text != text
}

func inJSON(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

// tests checks the form of a policy's tests, and keeps them.
func (r *reader) tests(list []formTest) {
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
		r.oneOf(path+".want", t.Want, append(stringsOf(actions), wantError)...)
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
		r.policy.tests = append(r.policy.tests, t.Test)
		r.policy.testsAt = append(r.policy.testsAt, r.Name()+":"+r.At(path))
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
