package guardrail

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// holds reports whether a rule's condition does. One that fails counts by on_error.
func (j *judging) holds(v *Verdict, r *rule, text string) bool {
	yes, err := r.when.holds(j.Policy, j.stage, j.scope, text)
	if err != nil {
		j.failed(v, fmt.Errorf("rule %s: %w", r.id, err), text)
	}
	return yes
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

// recovering takes a detector's panic into the verdict.
func (j *judging) recovering(v *Verdict, text string) {
	if r := recover(); r != nil {
		j.failed(v, panicked("a detector", r), text)
	}
}

// recovering takes a panic of the plugin's own into a hook's error.
func (g *guard) recovering(err *error) {
	if r := recover(); r != nil {
		*err = panicked("guardrail", r)
		g.Log.Error("guardrail: this is a mistake in the program", slog.String("error", (*err).Error()), slog.String("stack", string(debug.Stack())))
	}
}

// panicked is the error of a panic. What it says may quote a text, so only what the runtime says is kept.
func panicked(who string, r any) error {
	if e, ok := r.(runtime.Error); ok {
		return fmt.Errorf("%s panicked: %w", who, e)
	}
	return fmt.Errorf("%s panicked with a %T", who, r)
}
