package plan

import (
	"cmp"
	"slices"

	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
)

// A Task says who asks for a compaction, for which prompt, and how small the prompt must become.
type Task struct {
	Trigger      string // what asks for it; see Plan.Trigger
	Instructions string // what the summary should not leave out
	Branch       string // the branch of the prompt
	Running      bool   // the invocation goes on, so its question and what its other branches work on stay
	Background   bool   // the summary is appended later
	Offline      bool   // the Summarizer is not asked

	// Clear is how many tokens must be saved by clearing old results, so that this is enough; 0 if they are
	// not cleared.
	Clear int
	// SummaryFirst says that old results are cleared only if no summary can be made.
	SummaryFirst bool

	// CutOnly says that nothing is summarized: what no model has seen is cut to the room that everything else
	// leaves.
	CutOnly bool

	// Refused is how many tokens the prompt had that the provider refused with Message, 0 if none was
	// refused.
	Refused int
	Message string

	// Limit is how many tokens the prompt may have afterwards; 0 if the compaction has to save
	// Config.MinGain.
	Limit int
	// FixedTokens are the tokens of the prompt that are not conversation: instruction and tools.
	FixedTokens int
	// AttributionTokens are the tokens of the conversation that are not in the view: words about who said
	// what, and what plugins added.
	AttributionTokens int
}

// triggered returns the trigger that asks for a compaction of a live view, "" if none does.
func (s *Settings) triggered(m meter.Meter, live []*session.Event, branch string) string {
	if m.View(live, branch)+m.Beside >= s.Trigger {
		return "tokens"
	}
	if len(live) > 0 && live[0].Marker() {
		// Count what came after the summary.
		head := live[0].Seq
		live = slices.DeleteFunc(slices.Clone(live[1:]), func(e *session.Event) bool { return e.Seq < head })
	}
	invocations := map[string]bool{}
	for _, e := range live {
		invocations[e.InvocationID] = true
	}
	switch {
	case s.Events > 0 && len(live) >= s.Events:
		return "events"
	case s.Invocations > 0 && len(invocations) >= s.Invocations:
		return "invocations"
	}
	return ""
}

// TriggerClear is the trigger of a compaction that only clears old results of tools.
const TriggerClear = "clear"

// Due returns what the triggers ask for in a live view: a summary, to clear old results, or either, whichever
// is enough. The task has no trigger if they ask for nothing. No clearing is enough for a trigger that counts
// events or invocations: they are as many as before.
func (s *Settings) Due(m meter.Meter, live []*session.Event, branch string) Task {
	t := Task{Trigger: s.triggered(m, live, branch), Branch: branch}
	view := m.View(live, branch) + m.Beside
	switch {
	case s.Clear.Trigger == 0 || view < s.Clear.Trigger:
	case t.Trigger == "tokens":
		t.Clear = max(Smallest, view-s.Trigger+s.MinGain)
	default:
		t.SummaryFirst = t.Trigger != ""
		t.Trigger = cmp.Or(t.Trigger, TriggerClear)
		t.Clear = max(Smallest, view/10) // each clearing makes the provider read the prompt anew
	}
	return t
}
