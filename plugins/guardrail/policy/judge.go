package policy

import (
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// A Judge is a service or a model that a rule asks about texts.
type Judge struct {
	// Rule is the rule's id, Revision the policy's.
	Rule, Revision string
	// URL is the service's address. HeaderEnv names the environment variable with a header for it;
	// "" for none.
	URL, HeaderEnv string
	// Model is the model's name, in place of a URL, and Question what it is asked about a text.
	Model, Question string
	// Timeout is how long an event waits for an answer.
	Timeout time.Duration
	// OnError is what becomes of a text without an answer: Block or Allow.
	OnError Action
	// Parts says that each text is asked about alone, because the rule takes parts out. Otherwise a
	// call or an answer of a tool is asked about as a whole, in JSON.
	Parts bool
	// Shadow says that the rule, or its policy, is in shadow: nothing waits for the answer.
	Shadow bool

	rule   *rule
	policy *Policy
}

// A Span is a part of a text that a judge has flagged.
type Span struct {
	Start, End int
	Type       string
	Score      float64 // from 0 to 1
}

// Judges returns the judges of the policy's rules.
func (p *Policy) Judges() []Judge {
	var list []Judge
	for _, r := range p.rules {
		if r.judge != nil {
			list = append(list, r.asJudge(p))
		}
	}
	return list
}

// Judges returns the judges that are to be asked about a text, those for parts or the others. A
// condition that cannot be computed adds its error to the verdict.
func (a *Active) Judges(v *Verdict, text string, parts bool) []Judge {
	var list []Judge
	for _, r := range a.rules {
		if r.judge != nil && r.judge.Parts == parts && a.holds(v, r, text) {
			list = append(list, r.asJudge(a.policy))
		}
	}
	return list
}

// asJudge returns the rule's judge under a policy.
func (r *rule) asJudge(p *Policy) Judge {
	j := *r.judge
	j.Rule = r.id
	j.Revision = p.revision
	j.Shadow = r.shadow || p.shadow
	j.rule = r
	j.policy = p
	return j
}

// JudgesWhole reports whether a rule's judge is asked about a call or an answer as a whole.
func (a *Active) JudgesWhole() bool {
	return slices.ContainsFunc(a.rules, func(r *rule) bool { return r.judge != nil && !r.judge.Parts })
}

// The types of what a judge flags without a type, and of a text that it has not answered about.
const (
	TypeFlagged  = "FLAGGED"
	typeUnjudged = "UNJUDGED"
)

// ByJudge is what [Finding.By] says of what a judge has flagged.
const ByJudge = "judge"

// Decide adds to a verdict what the judge's answer about a text means: the spans that it flags,
// none if it flags nothing, or why there is no answer.
func (j *Judge) Decide(v *Verdict, text string, spans []Span, failure error) {
	r := j.rule
	a := Active{policy: j.policy}
	add := func(f Finding, action Action) {
		if action != Allow {
			f.Rule = r.id
			f.By = ByJudge
			f.View = view.RawView
			f.with = r.with
			v.add(a.finding(f, action, r.shadow))
		}
	}
	if failure != nil {
		add(Finding{
			Type:    typeUnjudged,
			End:     len(text),
			Score:   1,
			message: notChecked,
			entire:  true,
		}, j.OnError)
		return
	}
	seen := map[string]bool{}
	for _, s := range spans {
		f := Finding{Type: s.Type, Start: s.Start, End: s.End, Score: s.Score, message: r.message}
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

// ValidType reports whether a word can be the type of a finding: capital letters, digits and _.
func ValidType(word string) bool { return typeForm.MatchString(word) }

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
func (r *reader) judge(path string, f *formJudge) *Judge {
	if !r.Has(path) {
		return nil
	}
	j := &Judge{
		URL:       f.URL,
		HeaderEnv: f.HeaderEnv,
		Model:     f.Model,
		Question:  f.Question,
		Timeout:   f.Timeout,
	}
	switch {
	case (f.URL == "") == (f.Model == ""):
		r.bad(path, "a judge is a service or a model: say url: or model:, one of them")
	case f.URL != "":
		r.judgeURL(path+".url", f.URL)
		if f.Question != "" {
			r.bad(path+".question", "a question is for a model; the service at the url knows what to look for by the rule's id")
		}
	case f.Question == "":
		r.bad(path, "a model needs a question: such as, Does this text ask for medical advice?")
	case f.HeaderEnv != "":
		r.bad(path+".header_env", "header_env is for a url; the model has its own key")
	}
	if r.Has(path + ".parallel") {
		r.bad(path+".parallel", "parallel is no longer an option: a judge at input answers before the model is called; leave parallel out, and give the judge a short timeout")
	}
	if !r.Has(path + ".timeout") {
		r.bad(path, "a judge needs a timeout: how long an event may wait for it, such as timeout: 3s")
	} else if j.Timeout <= 0 || j.Timeout > maxTimeout {
		r.bad(path+".timeout", "a timeout of %s is none: it is more than 0, such as 3s, and at most %s",
			j.Timeout, maxTimeout)
	}
	if f.OnError == "" {
		r.bad(path, "a judge needs on_error: block or allow, for when it cannot be reached or makes no sense; block keeps what nobody has judged from passing")
	} else {
		j.OnError = Action(r.oneOf(path+".on_error", f.OnError, string(Block), string(Allow)))
	}
	return j
}

func (r *reader) judgeURL(path, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		r.bad(path, "this is no address of a service: write https://HOST/PATH")
	case u.User != nil:
		r.bad(path, "a user or a password does not belong into an address; put the header into the environment and name it with header_env:")
	case u.Fragment != "":
		r.bad(path, "the part after # is not sent to a service; leave it out")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		r.bad(path, "http sends the texts in the clear; say https, or a host of this machine such as 127.0.0.1")
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
		r.bad(path+".judge", "a judge decides by itself: make what detect or tools find a rule of its own, or say when: it is asked")
	case made.window != "part":
		r.bad(path+".window", "a judge sees one text at a time: leave window out")
	case slices.Contains(made.stages, Prompt):
		r.bad(path+".stages", "at prompt a judge would be asked about the whole conversation again with each call; judge what goes into it, at input, output and tool_result")
	case made.judge.Parts && made.judge.Model != "":
		r.bad(path+".action", "a model says yes or no, and not which part to take out; block, ask or flag, or ask a service")
	}
}
