package policy

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
	"github.com/plughook/plughook/prices"
)

// groundingQuestion is what a model is asked about grounding if the rule has no question.
const groundingQuestion = "Does the text state a fact, such as a number, a name, a date, a price or that something was done, that does not follow from what the tools have answered? Greetings, questions, offers and what is said to be unknown are no such facts."

// Judges returns the judges of the policy's rules.
func (p *Policy) Judges() []judging.Judge {
	var list []judging.Judge
	for _, r := range p.rules {
		if r.judge != nil {
			list = append(list, r.asJudge(p))
		}
	}
	return list
}

// Judges returns the judges that are to be asked about a text, those for parts or the others. A
// condition that cannot be computed adds its error to the verdict.
func (a *Active) Judges(v *Verdict, text string, parts bool) []judging.Judge {
	var list []judging.Judge
	for _, r := range a.rules {
		if r.judge != nil && r.judge.Parts == parts && a.holds(v, r, text) {
			list = append(list, r.asJudge(a.policy))
		}
	}
	return list
}

// asJudge returns the rule's judge under a policy.
func (r *rule) asJudge(p *Policy) judging.Judge {
	j := *r.judge
	j.Rule = r.id
	j.Revision = p.revision
	j.Shadow = r.shadow || p.shadow
	j.Budget = p.budget
	return j
}

// JudgesWhole reports whether a rule's judge is asked about a call or an answer as a whole.
func (a *Active) JudgesWhole() bool {
	return slices.ContainsFunc(a.rules, func(r *rule) bool { return r.judge != nil && !r.judge.Parts })
}

// AddAnswer adds to a verdict what the answer of one of the policy's judges about a text means: the
// spans that it flags, none if it flags nothing, or why there is no answer.
func (p *Policy) AddAnswer(
	v *Verdict, j *judging.Judge, text string, spans []judging.Span, failure error,
) {
	r := p.rules[slices.IndexFunc(p.rules, func(r *rule) bool { return r.id == j.Rule })]
	a := Active{policy: p}
	add := func(f Finding, action Action) {
		if action != Allow {
			f.Rule = r.id
			f.By = judging.By
			f.View = view.RawView
			f.with = r.with
			v.add(a.finding(f, action, r.shadow))
		}
	}
	if failure != nil {
		add(Finding{
			Type:    judging.TypeOf(failure),
			End:     len(text),
			Score:   1,
			message: notChecked,
			entire:  true,
		}, Action(j.OnError))
		return
	}
	seen := map[string]bool{}
	if len(spans) == 0 {
		p.coverage.came(r.id, "judge: no")
	}
	for _, s := range spans {
		p.coverage.acted(r, s.Type, "", "")
		f := Finding{Type: s.Type, Start: s.Start, End: s.End, Score: s.Score, message: r.message, ask: r.ask}
		if !j.Parts { // the rule is about the whole text: each type counts once
			if seen[s.Type] {
				continue
			}
			seen[s.Type] = true
			f.Start = 0
			f.End = len(text)
			f.entire = true
		}
		add(f, r.actionOn(s.Type))
	}
}

// Notes says what of the policy its reader should know, though nothing is wrong with it: which judges
// are sent texts as they came, and what is wrong with the pins of tools.
func (p *Policy) Notes() []string {
	var notes []string
	for _, j := range p.Judges() {
		if j.Original {
			notes = append(notes, fmt.Sprintf("rule %s: %s is sent texts as they came, also what other rules take out (sees: original)",
				j.Rule, cmp.Or(j.URL, j.Model)))
		}
	}
	if p.pins != nil {
		notes = append(notes, p.pins.Advice()...)
	}
	return notes
}

// Models returns the names of the models that rules ask.
func (p *Policy) Models() []string {
	var names []string
	for _, r := range p.rules {
		if r.judge != nil && r.judge.Model != "" && !slices.Contains(names, r.judge.Model) {
			names = append(names, r.judge.Model)
		}
	}
	return names
}

// maxTimeout is the longest timeout of a judge.
const maxTimeout = 10 * time.Minute

// judge reads a rule's judge; nil if it has none.
func (r *reader) judge(path string, f *form.Judge) *judging.Judge {
	if !r.Has(path) {
		return nil
	}
	j := &judging.Judge{
		URL:       f.URL,
		HeaderEnv: f.HeaderEnv,
		Model:     f.Model,
		Question:  f.Question,
		Grounding: f.Grounding,
		Threshold: f.Threshold,
		Timeout:   f.Timeout,
	}
	j.Original = r.oneOf(path+".sees", f.Sees, "edited", "original") == "original"
	switch {
	case (f.URL == "") == (f.Model == ""):
		r.bad(path, "a judge is a service or a model: write either url: or model:")
	case f.URL != "":
		r.judgeURL(path+".url", f.URL)
		if f.Question != "" {
			r.bad(path+".question", "question: is for a model only; a service at url: gets the rule's id instead")
		}
	case f.Question == "" && !f.Grounding:
		r.bad(path, "a model needs question:, such as \"Does this text ask for medical advice?\"")
	case f.HeaderEnv != "":
		r.bad(path+".header_env", "header_env: is for a service at url: only; a model has its own key")
	}
	if f.URL != "" {
		for _, key := range []string{"examples", "grounding"} {
			if r.Has(path + "." + key) {
				r.bad(path+"."+key, "%s: is for a model only; a service knows what it looks for", key)
			}
		}
	}
	if j.Grounding {
		j.Question = cmp.Or(j.Question, groundingQuestion)
	}
	for i, e := range f.Examples {
		at := fmt.Sprintf("%s.examples[%d]", path, i)
		if e.Text == "" || !r.Has(at+".flagged") {
			r.bad(at, "an example needs text:, and flagged: true or false")
		}
		j.Examples = append(j.Examples, judging.Example(e))
	}
	switch {
	case r.Has(path+".threshold") && !(f.Threshold > 0 && f.Threshold <= 1):
		r.bad(path+".threshold", "the threshold is %v; it must be a score above 0 and at most 1", f.Threshold)
	case f.Threshold == 0 && f.Model != "":
		j.Threshold = judging.Undecided
	}
	if !r.Has(path + ".timeout") {
		r.bad(path, "a judge needs a timeout: how long an event may wait for it, such as timeout: 3s")
	} else if j.Timeout <= 0 || j.Timeout > maxTimeout {
		r.bad(path+".timeout", "the timeout is %s; it must be more than 0, such as 3s, and at most %s",
			j.Timeout, maxTimeout)
	}
	if f.OnError == "" {
		r.bad(path, "a judge needs on_error: block or allow. It decides when the judge cannot be reached or gives no valid answer: block withholds the text, allow lets it pass")
	} else {
		j.OnError = r.oneOf(path+".on_error", f.OnError, string(Block), string(Allow))
	}
	return j
}

// budget reads what the judges may spend.
func (r *reader) budget(f *form.Judges) judging.Budget {
	const path = "judges"
	if !r.Has(path) {
		return judging.Budget{}
	}
	r.policy.budgetAt = r.Name() + ":" + r.At(path)
	usd := r.Has(path + ".usd")
	tokens := r.Has(path + ".tokens")
	switch {
	case !usd && !tokens:
		r.bad(path, "judges: says what models that judge may use; write tokens:, usd: or both, such as tokens: 200000")
	case tokens && f.Tokens <= 0:
		r.bad(path+".tokens", "tokens is %d; it must be more than 0", f.Tokens)
	case usd && !(f.USD > 0 && f.USD < math.MaxFloat64):
		r.bad(path+".usd", "usd is %v; it must be more than 0", f.USD)
	}
	if f.Per <= 0 {
		r.bad(path, "judges: needs per: the time in which that much may be used, such as per: 1h")
	}
	share := cmp.Or(f.Share, 0.25)
	if !(share > 0 && share <= 1) || r.Has(path+".user_share") && f.Share == 0 {
		r.bad(path+".user_share", "user_share is %v; it must be above 0 and at most 1", f.Share)
	}
	return judging.Budget{Tokens: f.Tokens, USD: f.USD, Per: f.Per, Share: share}
}

// CheckPrices returns an error if the policy bounds what its models cost in USD, and nobody knows what
// one of them costs. price knows it by the name that rules have for a model.
func (p *Policy) CheckPrices(price func(model string) (prices.Price, bool)) error {
	names := p.Unpriced(price)
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s: usd: nobody knows what the model %s costs in USD; write its price for a million tokens into the configuration, prices: {models: {%q: {input: 1, output: 2}}}, or tokens: in place of usd",
		p.budgetAt, names[0], names[0])
}

// Unpriced returns the models of which CheckPrices would say that nobody knows what they cost.
func (p *Policy) Unpriced(price func(model string) (prices.Price, bool)) []string {
	if p.budget.USD == 0 {
		return nil
	}
	var names []string
	for _, name := range p.Models() {
		if _, ok := price(name); !ok {
			names = append(names, name)
		}
	}
	return names
}

func (r *reader) judgeURL(path, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		r.bad(path, "this is not the address of a service; write https://HOST/PATH")
	case u.User != nil:
		r.bad(path, "the address must not have a user or a password; put the header into an environment variable, and name that with header_env:")
	case u.Fragment != "":
		r.bad(path, "the part after # is not sent to a service; leave it out")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		r.bad(path, "http would send the texts unencrypted; use https, or a host of this machine such as 127.0.0.1")
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// judgeFits checks a rule's judge against the rest of the rule, which was read before.
func (r *reader) judgeFits(path string, made *rule) {
	if made.judge == nil {
		return
	}
	made.judge.Parts = slices.ContainsFunc(actions,
		func(a Action) bool { return a.edits() && made.does(a) })
	switch {
	case r.Has(path+".detect") || r.Has(path+".tools"):
		r.bad(path+".judge", "a rule with a judge cannot have detect: or tools: too; move them to a rule of their own, or write when: to choose when the judge is asked")
	case made.window != "part":
		r.bad(path+".window", "a judge sees one text at a time: leave window out")
	case slices.Contains(made.stages, Prompt):
		r.bad(path+".stages", "a judge cannot be asked at the stage prompt, since it would get the whole conversation again at each model call; use input, output and tool_result")
	case made.judge.Grounding && !slices.Equal(made.stages, []Stage{Output}):
		r.bad(path+".stages", "grounding: is about what an agent says from what tools have answered; write stages: [output]")
	case made.judge.Parts && made.judge.Model != "":
		r.bad(path+".action", "a model answers only yes or no, so no part of the text can be taken out; use block, ask or flag, or a service in place of the model")
	}
}
