package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/policy/file"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
	"github.com/plughook/plughook/session"
)

// A Scope says whose text it is, and has what conditions can ask about.
type Scope struct {
	App, User, Session, Agent, Branch string
	// Tool is the tool that is called or answers, Args what it is called with.
	Tool string
	Args map[string]any
	// State is the session's state.
	State map[string]any
	// Files are the files that are judged; nil if a text is. Only rules whose condition asks about files
	// are about files, and they are about nothing else.
	Files []file.File
	// Taint names the tools that the policy does not trust and whose answers the session has.
	Taint []string
	// Seen is what the session has had before, for rules about flows, and Turn the run.
	Seen []Seen
	Turn string
}

// A Verdict is what a policy makes of a text.
type Verdict struct {
	// Action is the strictest of the findings' actions. Rule is the rule of the first finding that
	// asks for it, and Message what that rule says.
	Action        Action
	Rule, Message string
	// Origin says, in a sentence, from which event the data came that the rule is about; "" if it is about no flow.
	Origin string
	// Ask says whose yes is needed: all of those whom the findings with the action Ask name.
	Ask []session.Approver
	// Findings are ordered by Start, the longer first, and then by Action, the stricter first, Type
	// and Rule.
	Findings []Finding
	// Text is the text as it may pass: edited where findings say so. Of a blocked text it is what
	// could be kept: what was found is redacted.
	Text string
	// Revision is the policy's.
	Revision string
	// Err says why the text could not be judged; nil if it could. The policy's on_error then decides.
	Err error
	// Took is how long judging took.
	Took time.Duration
}

// A Finding is a part of a text on which a rule acts. It does not quote the text.
type Finding struct {
	// Rule is the rule's id.
	Rule string
	// Type says what was found, such as EMAIL_ADDRESS. It is TEXT for a whole text, LENGTH for one
	// that is too long, FLAGGED for what a judge has flagged without a type, and UNJUDGED for a
	// text that its judge has not answered about.
	Type string
	// By says more exactly what found it, such as the form of a secret or the country of a number.
	By string
	// Start and End are the part's bytes in the text.
	Start, End int
	// Score says how sure it is, above 0 and at most 1.
	Score float64
	// View names the view of the text in which it was found: "raw" for the text as it stands, or a
	// reading of it with a disguise undone, such as "decoded".
	View string
	// Action is what becomes of it. Would is what would become of it if neither the rule nor the
	// policy were in shadow.
	Action, Would Action
	// Exception says why the finding passes though the rule acts on its type: values, domains or patterns of
	// the key allow, of the rule or of the policy; "" for one that no exception is about.
	Exception string
	// From is the event from which the data came, for a rule about a flow; "" for others.
	From string

	message string           // what the rule says
	origin  string           // from where the data came, as a sentence
	ask     session.Approver // whom the rule asks
	with    string           // what the rule replaces the part with
	entire  bool             // the finding is the whole text, as if its type were TEXT
}

// The types of findings that are about a whole text.
const (
	typeText   = "TEXT"
	typeLength = "LENGTH"
)

// Whole reports whether the finding is about the whole text, so that there is no part to take out.
func (f *Finding) Whole() bool {
	return f.entire || f.Type == typeText || f.Type == typeLength
}

// Reads returns what the finding's part of the text says in the view in which it was found, such as
// the decoded base64; "" if the part was found as it stands.
func (f *Finding) Reads(text string) string {
	for _, shown := range new(view.Views).Of(text[f.Start:f.End]) {
		if shown.Name == f.View {
			return shown.Text
		}
	}
	return ""
}

// compare orders findings: by where they begin, the longer first, then the stricter, and then by
// names. The order of rules in a file, and of what they look for, says nothing.
func (f *Finding) compare(o *Finding) int {
	byPlace := cmp.Or(f.Start-o.Start, o.End-f.End)
	if byPlace != 0 { // as for most: the rest need not be compared
		return byPlace
	}
	disguised := func(f *Finding) int {
		if f.View == view.RawView {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(o.Action.strictness(), f.Action.strictness()),
		cmp.Compare(f.Type, o.Type),
		cmp.Compare(f.Rule, o.Rule),
		cmp.Compare(disguised(f), disguised(o)),
		cmp.Compare(f.View, o.View),
		cmp.Compare(f.By, o.By),
		cmp.Compare(o.Score, f.Score),
	)
}

// Join takes the findings of a verdict on another text of the same event into this one.
func (v *Verdict) Join(o *Verdict) {
	for _, f := range o.Findings {
		v.add(f)
	}
	if v.Err == nil {
		v.Err = o.Err
	}
	v.Took += o.Took
}

// AgreesUpTo returns up to which of the first bytes of a text this verdict and another one do the same:
// up to the first finding that changes the text and that only one of them has.
func (v *Verdict) AgreesUpTo(o *Verdict, bytes int) int {
	for _, lists := range [][2][]Finding{{v.Findings, o.Findings}, {o.Findings, v.Findings}} {
		for _, f := range lists[0] {
			if f.Action.Hides() && !slices.Contains(lists[1], f) {
				bytes = min(bytes, f.Start)
			}
		}
	}
	return bytes
}

// add takes a finding into the verdict.
func (v *Verdict) add(f Finding) {
	v.Findings = append(v.Findings, f)
	v.decide(&v.Findings[len(v.Findings)-1])
}

// decide lets a finding decide the verdict if it is stricter than the one that does.
func (v *Verdict) decide(f *Finding) {
	if f.Action == Ask && !slices.Contains(v.Ask, f.ask) {
		v.Ask = append(v.Ask, f.ask)
	}
	if v.Action == "" || f.Action.StricterThan(v.Action) {
		v.Action = f.Action
		v.Rule = f.Rule
		v.Message = f.message
		v.Origin = f.origin
	}
}
