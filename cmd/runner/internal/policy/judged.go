package policy

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// judgedEvents is what a policy makes of recorded events. It is the handler of the plugin's log,
// too.
type judgedEvents struct {
	rules  []string // ids, in their order
	shadow []string // those that are

	mu       sync.Mutex
	records  map[found][]guardrail.Record
	texts    map[found][]foundText // nil if none are wanted
	failures map[string]int        // texts that could not be judged, by why
}

// found is where a rule has found something.
type found struct {
	judgedEvent
	rule  string
	stage policy.Stage
}

type judgedEvent struct {
	session session.Key
	id      string
}

// call takes what the plugin has noted on an event; it is a Runner's trace.
func (j *judgedEvents) call(c runner.HookCall) {
	if c.Event == nil || c.Outcome.Replace == nil || c.Event.Author == session.PluginPrefix+c.Plugin {
		return // it never judges what it says itself
	}
	note, _ := guardrail.NoteOf(c.Outcome.Replace)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range note.Records {
		if r.Would != "" {
			r.Action = r.Would
			r.Would = ""
		}
		at := found{
			judgedEvent: judgedEvent{c.Key, c.Event.ID},
			rule:        r.Rule,
			stage:       r.Stage,
		}
		j.records[at] = append(j.records[at], r)
	}
}

// finding stores the text of a finding, if the command was called with --text.
func (j *judgedEvents) finding(in judgedEvent, stage policy.Stage, f policy.Finding, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.texts == nil {
		return
	}
	at := found{judgedEvent: in, rule: f.Rule, stage: stage}
	same := 0 // texts with this action
	for _, t := range j.texts[at] {
		if t.action == f.Would {
			same++
		}
	}
	if same < maxTexts {
		j.texts[at] = append(j.texts[at], quoteFound(f, text))
	}
}

// outcomes returns what becomes of the events in which a rule finds something: a rule that is not in
// shadow, or any rule.
func (j *judgedEvents) outcomes(outOfShadow bool) map[judgedEvent]policy.Action {
	all := map[judgedEvent]policy.Action{}
	for at, records := range j.records {
		if outOfShadow || !slices.Contains(j.shadow, at.rule) {
			all[at.judgedEvent] = strictest(all[at.judgedEvent], records)
		}
	}
	return all
}

// strictest returns the strictest of an action and those of records.
func strictest(a policy.Action, records []guardrail.Record) policy.Action {
	for _, r := range records {
		if strictness(r.Action) > strictness(a) {
			a = r.Action
		}
	}
	return a
}

func strictness(a policy.Action) int { return slices.Index(policy.Actions(), a) }

// Enabled implements slog.Handler: what rules decide is in the notes, what could not be judged only
// here.
func (j *judgedEvents) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

// Handle implements slog.Handler.
func (j *judgedEvents) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			j.failures[a.Value.String()]++
		}
		return a.Key != "error"
	})
	return nil
}

// WithAttrs implements slog.Handler.
func (j *judgedEvents) WithAttrs([]slog.Attr) slog.Handler { return j }

// WithGroup implements slog.Handler.
func (j *judgedEvents) WithGroup(string) slog.Handler { return j }
