package guardrail

import (
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
)

// conclude takes the verdict on a text into the evaluation.
func (ev *evaluation) conclude(t *evaluatedText) {
	v := &t.verdict
	if v.Action == "" && v.Err == nil && !t.unfinished {
		return
	}
	ev.policy.Finish(v, t.text)
	edit := ev.policy.Edit(v, t.text)

	// Of an unfinished text, what may be the beginning of a finding is not kept for want of its end.
	if t.unfinished {
		t.settled = edit.Whole(t.settled)
	}

	// Put the text into its parts. What is JSON stays JSON.
	parts := []string{v.Text}
	switch {
	case v.Text != t.text && t.value && jsonvalue.Is(t.text):
		parts[0] = edit.JSON()
	case len(t.ends) > 1 || t.unfinished:
		parts = edit.Parts(t.ends, t.settled)
	}
	v.Text = strings.Join(parts, "")
	if t.number != whole && v.Text != t.text {
		ev.edits[t.number] = parts
		t.item.edited = true
		t.item.keyEdited = t.item.keyEdited || t.key
	}

	ev.sawFindings(t)
	t.item.verdict.Join(v)
	if ev.err == nil {
		ev.err = v.Err
	}
	for i := range v.Findings {
		ev.record(t.item.Stage, &v.Findings[i], t.text)
	}
}

// rewrite returns the Edit of a walk that writes what the evaluation makes of the texts.
func (ev *evaluation) rewrite() func(walk.Leaf) ([]string, bool) {
	texts := 0
	return func(walk.Leaf) ([]string, bool) {
		parts, edited := ev.edits[texts]
		texts++
		return parts, edited
	}
}

// strictest returns the item with the strictest action, of those that count; nil if none does.
func (ev *evaluation) strictest(counts func(*evaluatedItem) bool) *evaluatedItem {
	var most *evaluatedItem
	for _, it := range ev.items {
		if counts(it) && (most == nil || it.verdict.Action.StricterThan(most.verdict.Action)) {
			most = it
		}
	}
	return most
}
