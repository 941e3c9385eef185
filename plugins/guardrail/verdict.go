package guardrail

import (
	"cmp"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// A Scope is whose text it is, and what conditions can ask about.
type Scope struct {
	App, User, Session, Agent, Branch string
	// Tool is the tool that is called or answers, Args what it is called with.
	Tool string
	Args map[string]any
	// State is the session's.
	State map[string]any
	// Taint are the tools that the policy does not trust whose answers the session has.
	Taint []string
}

// A Verdict is what a policy makes of a text.
type Verdict struct {
	// Action is the strictest of the findings', Rule the rule of the first that asks it, Message what that rule has to say.
	Action        Action
	Rule, Message string
	// Findings are ordered by Start, the longer first, and then by Action, the stricter first, Type and Rule.
	Findings []Finding
	// Text is the text as it may pass: edited where Action says so. Of a blocked text it is what could be kept: what
	// was found is redacted.
	Text string
	// Revision is the policy's.
	Revision string
	// Err is why the text could not be judged, nil if it could: the policy's on_error then decides.
	Err error
	// Took is how long it took.
	Took time.Duration
}

// A Finding is a part of a text that a rule is about. It does not quote the text.
type Finding struct {
	// Rule is the rule's id.
	Rule string
	// Type says what it is, such as EMAIL_ADDRESS; TEXT for the whole text, LENGTH for one that is too long, FLAGGED for what a judge has given no type, UNJUDGED for what one has given no verdict on.
	Type string
	// By says more exactly who found it: a secret's form, a country's number.
	By string
	// Start and End are the part's bytes in the text.
	Start, End int
	// Score says how sure it is, above 0 and at most 1.
	Score float64
	// View names the view of the text in which it was found: "raw" for the text as it stands, or a reading of it with a
	// disguise undone, such as "base64".
	View string
	// Action is what becomes of it; Would is what would if neither the rule nor the policy were in shadow.
	Action, Would Action

	message, with string
	entire        bool // it is about all of the text, whatever its type
}

// Reads returns what the finding's part of the text says in the view in which it was found, such as the decoded base64;
// "" if the part was found as it stands.
func (f *Finding) Reads(text string) string {
	for _, shown := range new(view.Views).Of(text[f.Start:f.End]) {
		if shown.Name == f.View {
			return shown.Text
		}
	}
	return ""
}

// whole reports whether the finding is about all of the text, and there is no part of it to take out.
func (f *Finding) whole() bool {
	return f.entire || f.Type == typeText || f.Type == typeLength
}

const (
	typeText   = "TEXT"
	typeLength = "LENGTH"
)

// add takes a finding into the verdict.
func (v *Verdict) add(f Finding) {
	v.Findings = append(v.Findings, f)
	v.decide(&v.Findings[len(v.Findings)-1])
}

// decide makes a finding the one that decides, if it is stricter than what has.
func (v *Verdict) decide(f *Finding) {
	if v.Action == "" || f.Action.strictness() > v.Action.strictness() {
		v.Action, v.Rule, v.Message = f.Action, f.Rule, f.message
	}
}

// compare orders findings: by where they begin, the longer first, then the stricter, and then by names. Nothing of it is
// the order of rules in a file, or of what they look for.
func (f *Finding) compare(o *Finding) int {
	if c := cmp.Or(f.Start-o.Start, o.End-f.End); c != 0 { // most are apart: the rest is not asked
		return c
	}
	seen := func(f *Finding) int { // as it stands there, and then in a view
		if f.View == view.RawView {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(o.Action.strictness(), f.Action.strictness()),
		cmp.Compare(f.Type, o.Type), cmp.Compare(f.Rule, o.Rule), cmp.Compare(seen(f), seen(o)), cmp.Compare(f.View, o.View), cmp.Compare(f.By, o.By), cmp.Compare(o.Score, f.Score))
}

// join takes the findings of another verdict, of another text of the same thing, into this one.
func (v *Verdict) join(o *Verdict) {
	for _, f := range o.Findings {
		v.add(f)
	}
	if v.Err == nil {
		v.Err = o.Err
	}
	v.Took += o.Took
}
