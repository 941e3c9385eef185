// Package judging has what policies, and those who ask the judges of their rules, know of each other:
// what a judge is, what it may spend, what is left of a text for it, and how its answer is read.
package judging

import (
	"time"

	"github.com/plughook/plughook/internal/lazyregexp"
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
	// Examples show the model what the question means.
	Examples []Example
	// Grounding says that the model is sent what tools have answered in the run, too, and that it is
	// not asked where there is no such answer.
	Grounding bool
	// Threshold is the least score with which the rule acts on a text.
	Threshold float64
	// Timeout is how long an event waits for an answer.
	Timeout time.Duration
	// OnError is what becomes of a text without an answer: the action block or allow.
	OnError string
	// Original says that the judge is sent the text as it came. Otherwise it is sent what the
	// policy's other rules leave of it.
	Original bool
	// Parts says that the judge gets each text alone, because the rule takes parts out of texts.
	// Otherwise a call or an answer of a tool is asked about as a whole, in JSON.
	Parts bool
	// Shadow says that the rule, or its policy, is in shadow: nothing waits for the answer.
	Shadow bool
	// Budget is what the judges of the policy may spend, together.
	Budget Budget
}

// An Example is a text, and whether the answer to a judge's question about it is yes.
type Example struct {
	Text    string
	Flagged bool
}

// A Budget is what the models of a policy's judges may use in each period of a process, together.
type Budget struct {
	Tokens int           // 0 for any number
	USD    float64       // 0 for any sum
	Per    time.Duration // the period, 0 if there is no budget
	Share  float64       // of it, that one user may use
}

// The types of what a judge flags without a type, of a text that it has not answered about, and of one
// that it was not asked about because of the budget.
const (
	TypeFlagged    = "FLAGGED"
	TypeUnjudged   = "UNJUDGED"    // the judge has not answered
	TypeOverBudget = "OVER_BUDGET" // it was not asked, because the judges have spent what they may
)

// By is what a finding says of what has found it, if a judge has flagged it.
const By = "judge"

// TypeForm is what the type of a finding looks like: capital letters, digits and _.
var TypeForm = lazyregexp.New(`^[A-Z][A-Z0-9_]{0,63}$`)
