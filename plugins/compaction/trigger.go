package compaction

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// triggered returns the trigger that asks for a compaction of a live view, "" if none does.
func (k *compactor) triggered(m meter, live []*session.Event, branch string) string {
	if m.view(live, branch)+m.beside >= k.Trigger {
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
	case k.Events > 0 && len(live) >= k.Events:
		return "events"
	case k.Invocations > 0 && len(invocations) >= k.Invocations:
		return "invocations"
	}
	return ""
}

// triggerClear is the trigger of a compaction that only clears old results of tools.
const triggerClear = "clear"

// due returns what the triggers ask for in a live view: a summary, to clear old results, or either, whichever is enough. The
// task has no trigger if they ask for nothing. No clearing is enough for a trigger that counts events or invocations: they
// are as many as before.
func (k *compactor) due(m meter, live []*session.Event, branch string) task {
	t := task{trigger: k.triggered(m, live, branch), branch: branch}
	view := m.view(live, branch) + m.beside
	switch {
	case k.Clear.Trigger == 0 || view < k.Clear.Trigger:
	case t.trigger == "tokens":
		t.clear = max(smallest, view-k.Trigger+k.MinGain)
	default:
		t.summaryFirst = t.trigger != ""
		t.trigger = cmp.Or(t.trigger, triggerClear)
		t.clear = max(smallest, view/10) // each clearing makes the provider read the prompt anew
	}
	return t
}

// idle reports whether the input comes after a pause of Config.Idle.
func (k *compactor) idle(inv *session.Invocation) bool {
	if k.Idle == 0 || inv.Input == nil {
		return false
	}
	var last time.Time
	for _, e := range inv.Live {
		if e.InvocationID != inv.ID && e.Timestamp.After(last) {
			last = e.Timestamp
		}
	}
	return !last.IsZero() && inv.Input.Timestamp.Sub(last) >= k.Idle
}

// overflowing matches what providers say when a prompt is too long: Gemini, OpenAI and those with its protocol,
// Anthropic, llama.cpp, vLLM, Bedrock.
var overflowing = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`context_length_exceeded`,
	`exceed_context_size`,
	`maximum context length`,
	`context (?:length|window|size)[^.]{0,40}exceed`,
	`exceed[^.]{0,60}(?:context (?:length|window|size)|maximum number of (?:input )?tokens|token limit)`,
	`token count[^.]{0,40}exceeds`,
	`(?:prompt|input|request) is too long`,
	`too many (?:input )?tokens`,
	`(?:entity|payload|content|request)[ _]too[ _]large`, // what HTTP's status 413 is called
}, "|"))

// overflow reports whether an event is a model's error because the prompt was too long.
func overflow(e *session.Event) bool {
	if !e.FromAgent() {
		return false
	}
	switch e.ErrorCode {
	case "", session.Denied:
		return false
	case "RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED": // a quota of tokens is not a limit of the prompt
		return false
	}
	return overflowing.MatchString(e.ErrorCode) || overflowing.MatchString(e.ErrorMessage)
}
