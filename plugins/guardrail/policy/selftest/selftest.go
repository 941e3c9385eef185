// Package selftest runs the tests that policies have in their files.
package selftest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/internal/window"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
)

// A Result is what became of a policy's test.
type Result struct {
	Test    form.Test
	Verdict policy.Verdict
	// Failure says how the verdict differs from what the test wants; "" if it does not.
	Failure string
}

// Run runs a policy's own tests, as if nothing were in shadow: they are about what the rules would do.
// A test whose text a judge would be asked about fails if it does not say what that judge answers.
func Run(p *policy.Policy) (results []Result) {
	enforced := p.Enforced()
	for _, t := range p.Tests() {
		r := run{policy: enforced, test: t}
		v := r.verdict()
		unjudged := v.Err != nil || r.failure != nil
		result := Result{Test: t, Verdict: v}
		decided := string(v.Action)
		if v.Rule != "" {
			decided = fmt.Sprintf("%s by %s", v.Action, v.Rule)
		}
		switch {
		case r.missing != nil:
			result.Failure = fmt.Sprintf("%v (%s)", r.missing, t.At)
		case t.Want == form.WantError && !unjudged:
			result.Failure = fmt.Sprintf("it is %s, not an error: the text could be judged", decided)
		case t.Want == form.WantError:
		case v.Err != nil:
			result.Failure = v.Err.Error()
		case v.Action != policy.Action(t.Want):
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

// run is the run of one test.
type run struct {
	policy  *policy.Policy
	test    form.Test
	scope   policy.Scope
	failure error // why a judge's answer is none
	missing error // which judge would be asked in a run, and has no answer in the test
}

// verdict returns what becomes of the test's text, and of each text in its arguments, as in a run. For
// a call without a text beside it the verdict's text is the arguments, as JSON.
func (r *run) verdict() policy.Verdict {
	began := time.Now()
	t := &r.test
	r.scope = policy.Scope{
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
	for _, b := range t.Before {
		turn := ""
		if b.Earlier {
			turn = "earlier"
		}
		seen := policy.Seen{Tool: b.Tool, Event: "before", Turn: turn}
		if b.Tool != "" {
			r.scope.Seen = append(r.scope.Seen, seen)
		}
		if b.Found != "" {
			seen.Rule, seen.Type = b.Found, b.Found
			r.scope.Seen = append(r.scope.Seen, seen)
		}
	}
	active := r.policy.At(&r.scope, policy.Stage(t.Stage))
	isCall := policy.Stage(t.Stage) == policy.ToolArgs && len(t.Args) > 0
	var call policy.Verdict
	args := ""
	if isCall {
		call, args = r.judgeCall(active)
	}
	var v policy.Verdict
	if isCall && t.Text == "" {
		v = call
		r.assume(active, &v, args, judging.Left{Text: args})
		v.Action = cmp.Or(v.Action, policy.Allow)
	} else {
		active.Find(&v, nil, t.Text, nil)
		active.Whole(&v, t.Text)
		r.assume(active, &v, t.Text, r.policy.Left(&v, t.Text))
		r.policy.Finish(&v, t.Text)
		v.Join(&call)
	}
	v.Took = time.Since(began)
	return v
}

// judgeCall judges a call with the test's arguments, and returns those as JSON, too.
func (r *run) judgeCall(active *policy.Active) (v policy.Verdict, args string) {
	// Judge each text in the arguments, with its key before it, and edit it.
	var said window.Before
	texts := 0
	edited, _ := jsonvalue.Each(r.scope.Args, "", func(l jsonvalue.Leaf) (string, bool) {
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
		var one policy.Verdict
		active.Find(&one, before, l.Text, nil)
		if !l.Key {
			said.Add(l.Text)
		}
		return r.conclude(&v, &one, l.Text, l.Value)
	})

	// Judge the arguments as a whole.
	args, err := inJSON(r.scope.Args)
	if active.HasWhole() {
		var whole policy.Verdict
		active.Whole(&whole, args)
		if active.JudgesWhole() {
			active.TooLong(&whole, args)
		}
		r.conclude(&v, &whole, args, false)
	}
	v.Revision = r.policy.Revision()
	v.Err = cmp.Or(v.Err, err)
	v.Text, err = inJSON(edited)
	v.Err = cmp.Or(v.Err, err)
	return v, args
}

// conclude takes the verdict on one text of a call into that on the call. It returns the text as it
// may pass, and whether that is another.
func (r *run) conclude(v, one *policy.Verdict, text string, value bool) (string, bool) {
	if one.Action == "" && one.Err == nil {
		return text, false
	}
	r.policy.Finish(one, text)
	if one.Text != text && value && jsonvalue.Is(text) {
		one.Text = r.policy.Edit(one, text).JSON()
	}
	v.Join(one)
	return one.Text, one.Text != text
}

func inJSON(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

// assume adds to the verdict what follows from the test's answers of judges, which were sent what is left of
// the text: true for one that flags all of it, or the answer as it comes from the judge. It notes the first judge
// whose answer a run would wait for and that has none in the test: a run waits for none about a text that
// is empty or too long, or that another rule, or another judge, blocks.
func (r *run) assume(active *policy.Active, v *policy.Verdict, text string, left judging.Left) {
	var missing *judging.Judge
	asked := slices.Concat(active.Judges(v, text, true), active.Judges(v, text, false))
	for i := range asked {
		judge := &asked[i]
		said, ok := r.test.Judge[judge.Rule]
		if !ok {
			missing = cmp.Or(missing, judge)
			continue
		}
		var answer judging.Answer
		var err error
		switch said := said.(type) {
		case bool:
			if said {
				answer.Spans = []judging.Span{{End: len(text), Type: judging.TypeFlagged, Score: 1}}
			}
		case string:
			answer, err = readAbout(judge, said, text, &left)
		}
		r.failure = cmp.Or(r.failure, err)
		r.policy.AddAnswer(v, judge, text, answer.Spans, err)
	}
	blocked := slices.ContainsFunc(v.Findings,
		func(f policy.Finding) bool { return f.Action == policy.Block })
	waits := !blocked && text != "" && len(text) <= r.policy.MaxBytes()
	if missing != nil && waits && r.missing == nil {
		r.missing = noAnswer(missing, text)
	}
}

// noAnswer says that a test lacks the answer of a rule's judge, and what to write.
func noAnswer(judge *judging.Judge, text string) error {
	answer := `{"flagged": false}`
	if judge.Model != "" {
		answer = `{"flagged": false, "score": 0.1}`
	}
	return fmt.Errorf("the rule %[1]s asks a judge about %[2]q, and the test has no answer of that judge; "+
		"write one into the test: judge: {%[1]s: true} or judge: {%[1]s: false}, or what the judge has answered, such as judge: {%[1]s: '%[3]s'}",
		judge.Rule, beginning(text), answer)
}

// beginning returns a text, or the beginning of a long one.
func beginning(text string) string {
	const most = 60
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

// readAbout reads the answer of a judge that was sent a text as it came, or what other rules leave of it.
func readAbout(
	j *judging.Judge, answer, text string, left *judging.Left,
) (judging.Answer, error) {
	if j.Original {
		return j.Read([]byte(answer), text)
	}
	read, err := j.Read([]byte(answer), left.Text)
	for i := range read.Spans {
		s := &read.Spans[i]
		s.Start, s.End = left.Original(s.Start, s.End)
	}
	return read, err
}
