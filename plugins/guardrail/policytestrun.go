package guardrail

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Result is what became of a policy's test.
type Result struct {
	Test    Test
	Verdict Verdict
	// Failure says in what way the verdict is not the wanted one; "" if it is.
	Failure string
}

// Test runs the policy's own tests, without regard to shadow: they are about what the rules would do.
func (p *Policy) Test() []Result {
	enforced := p.enforced()
	var results []Result
	for _, t := range p.tests {
		v := enforced.tried(&t)
		result := Result{Test: t, Verdict: v}
		switch {
		case v.Err != nil:
			result.Failure = v.Err.Error()
		case v.Action != Action(t.Want):
			result.Failure = fmt.Sprintf("it is %s, not %s", by(v.Action, v.Rule), t.Want)
		case t.Rule != "" && v.Rule != t.Rule:
			result.Failure = fmt.Sprintf("it is %s, not by %s", by(v.Action, v.Rule), t.Rule)
		case t.After != "" && v.Text != t.After:
			result.Failure = fmt.Sprintf("the text becomes %q, not %q", v.Text, t.After)
		}
		results = append(results, result)
	}
	return results
}

// tried returns what becomes of a test's text, and of a call with its arguments, each text of them, as in a run. Of a call
// alone the verdict's text is the arguments, as JSON.
func (p *Policy) tried(t *Test) Verdict {
	began := time.Now()
	s := Scope{App: t.App, User: t.User, Agent: t.Agent, Branch: t.Branch, Tool: t.Tool, Args: t.Args, State: t.State, Taint: t.Taint}
	called := Stage(t.Stage) == ToolArgs && len(t.Args) > 0
	if !called {
		return p.judge(Stage(t.Stage), s, t.Text, t.Judge)
	}
	v, args := p.judgeCall(s)
	if t.Text != "" {
		text := p.judge(ToolArgs, s, t.Text, t.Judge)
		text.join(&v)
		return text
	}
	p.at(ToolArgs, &s).flagged(&v, args, t.Judge)
	v.Action, v.Took = cmp.Or(v.Action, Allow), time.Since(began)
	return v
}

// judgeCall judges a call with the arguments of a scope, and returns those as JSON, too.
func (p *Policy) judgeCall(s Scope) (v Verdict, args string) {
	j := &judgment{policy: p, inv: &session.Invocation{State: s.State}, event: &session.Event{Author: s.Agent}, scope: s, edits: map[int][]string{}}
	walk := func(w *walker) (text string) {
		values := s.Args
		w.json(&item{stage: ToolArgs, call: &genai.FunctionCall{Name: s.Tool, Args: s.Args}, tool: s.Tool, args: s.Args}, &values)
		data, err := json.Marshal(values)
		v.Err = cmp.Or(v.Err, err)
		return string(data)
	}
	args = walk(&walker{edit: j.text, begin: j.begin, end: j.end})
	v = j.items[0].verdict
	v.Revision, v.Text = p.revision, walk(&walker{edit: j.rewrites(), write: true})
	return v, args
}

func by(a Action, rule string) string {
	if rule == "" {
		return string(a)
	}
	return fmt.Sprintf("%s by %s", a, rule)
}

// enforced returns the policy out of shadow, its rules too.
func (p *Policy) enforced() *Policy {
	c := *p
	c.shadow = false
	c.rules = slices.Clone(c.rules)
	for i, r := range c.rules {
		mine := *r
		mine.shadow = false
		c.rules[i] = &mine
	}
	return &c
}
