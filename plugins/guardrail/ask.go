package guardrail

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"
)

// ask is what a rule says of its judge: somebody else, who is asked about a text.
type ask struct {
	url, headerEnv  string
	model, question string
	timeout         time.Duration
	onError         Action
	// each says that every text is asked about alone, and not a call or an answer as one.
	each bool
}

const maxAskTimeout = 10 * time.Minute

// typeFlagged is the type of what a judge has flagged and given no type.
const typeFlagged = "FLAGGED"

// typeUnjudged is the type of a text about which there is no verdict.
const typeUnjudged = "UNJUDGED"

// judge reads a rule's judge; nil if it has none.
func (r *reader) judge(path string, f *formJudge) *ask {
	if !r.Has(path) {
		return nil
	}
	a := &ask{url: f.URL, headerEnv: f.HeaderEnv, model: f.Model, question: f.Question}
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
	a.timeout = f.Timeout
	if !r.Has(path + ".timeout") {
		r.bad(path, "a judge needs a timeout: how long an event may wait for it, such as timeout: 3s")
	} else if a.timeout <= 0 || a.timeout > maxAskTimeout {
		r.bad(path+".timeout", "a timeout of %s is none: it is more than 0, such as 3s, and at most %s", a.timeout, maxAskTimeout)
	}
	if f.OnError == "" {
		r.bad(path, "a judge needs on_error: block or allow, for when it cannot be reached or makes no sense; block keeps what nobody has judged from passing")
	} else {
		a.onError = Action(r.oneOf(path+".on_error", f.OnError, string(Block), string(Allow)))
	}
	return a
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

// judged checks what a rule with a judge says beside it, once all of it is read.
func (r *reader) judged(path string, f *formRule, made *rule) {
	if made.ask == nil {
		return
	}
	made.ask.each = made.does(Mask) || made.does(Vaulted) || made.does(Hash) || made.does(Replace) || made.does(Redact)
	switch {
	case r.Has(path+".detect") || r.Has(path+".tools"):
		r.bad(path+".judge", "a judge decides by itself: make what detect or tools find a rule of its own, or say when: it is asked")
	case made.window != "part":
		r.bad(path+".window", "a judge sees one text at a time: leave window out")
	case slices.Contains(made.stages, Prompt):
		r.bad(path+".stages", "at prompt a judge would be asked about the whole conversation again with each call; judge what goes into it, at input, output and tool_result")
	case made.ask.each && made.ask.model != "":
		r.bad(path+".action", "a model says yes or no, and not which part to take out; block, ask or flag, or ask a service")
	}
}

// Judges are the ids of the rules that ask somebody else.
func (p *Policy) Judges() (ids []string) {
	for _, r := range p.rules {
		if r.ask != nil {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// Models are the names of the models that rules ask.
func (p *Policy) Models() (names []string) {
	for _, r := range p.rules {
		if r.ask != nil && r.ask.model != "" && !slices.Contains(names, r.ask.model) {
			names = append(names, r.ask.model)
		}
	}
	return names
}

// Local returns the policy without the rules that ask somebody else: no text leaves the process.
func (p *Policy) Local() *Policy {
	c := *p
	c.rules = slices.DeleteFunc(slices.Clone(p.rules), func(r *rule) bool { return r.ask != nil })
	return &c
}

// An answer is what a judge says of a text. Spans are its parts that are flagged; none says that all of it is.
type answer struct {
	flagged bool
	spans   []span
	tokens  int // that a model has used
}

type span struct {
	start, end int
	kind       string
	score      float64
}

// size is about how many bytes an answer takes where it is remembered.
func (a *answer) size() int {
	n := 128
	for _, s := range a.spans {
		n += 40 + len(s.kind)
	}
	return n
}

// unjudged is why a judge has no verdict. It has nothing of what was asked or answered.
type unjudged string

func (u unjudged) Error() string { return string(u) }

func unjudgedf(format string, args ...any) error { return unjudged(fmt.Sprintf(format, args...)) }
