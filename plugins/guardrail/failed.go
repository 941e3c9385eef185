package guardrail

import (
	"fmt"
	"runtime"

	"github.com/plughook/plughook/plugins/guardrail/view"
)

// holds reports whether a rule's condition does. One that fails counts by on_error.
func (j *judging) holds(v *Verdict, r *rule, text string) bool {
	yes, err := r.when.holds(j.Policy, j.stage, j.scope, text)
	if err != nil {
		j.failed(v, fmt.Errorf("rule %s: %w", r.id, err), text)
	}
	return yes && err == nil
}

// notChecked is what the caller is told.
const notChecked = "This could not be checked against the policy."

// failed takes an error into the verdict.
func (j *judging) failed(v *Verdict, err error, text string) {
	if v.Err == nil {
		v.Err = err
	}
	if j.onError == Block {
		v.add(j.finding(Finding{Rule: "on_error", Type: typeText, End: len(text), Score: 1, View: view.RawView, message: notChecked}, Block, false))
	}
}

// recovering takes a panic into the verdict. What it says may quote the text, so only what the runtime says is kept.
func (j *judging) recovering(v *Verdict, text string) {
	if r := recover(); r != nil {
		err := fmt.Errorf("a detector panicked with a %T", r)
		if e, ok := r.(runtime.Error); ok {
			err = fmt.Errorf("a detector panicked: %w", e)
		}
		j.failed(v, err, text)
	}
}
