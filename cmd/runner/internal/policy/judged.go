package policy

import (
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// judgedEvents is what a policy finds in recorded events.
type judgedEvents struct {
	rules  []string // ids, in their order
	shadow []string // those that are

	mu       sync.Mutex
	findings map[found][]finding
	failures map[string]int // texts that could not be judged, by why
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

// finding is what a rule has found in a text.
type finding struct {
	policy.Finding
	text string
}

// add takes in what a rule has found in an event.
func (j *judgedEvents) add(in judgedEvent, stage policy.Stage, f policy.Finding, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := found{judgedEvent: in, rule: f.Rule, stage: stage}
	if f.Rule == "on_error" && f.By != "" {
		at.rule += " of " + f.By
	}
	j.findings[at] = append(j.findings[at], finding{f, text})
}

// log returns a logger for the plugin that counts what could not be judged. It stands nowhere else.
func (j *judgedEvents) log() *slog.Logger {
	count := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "error" {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.failures[a.Value.String()]++
		}
		return a
	}
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError, ReplaceAttr: count}))
}

// outcomes returns what becomes of the events in which a rule finds something: a rule that is not in
// shadow, or any rule.
func (j *judgedEvents) outcomes(outOfShadow bool) map[judgedEvent]policy.Action {
	all := map[judgedEvent]policy.Action{}
	for at, findings := range j.findings {
		if outOfShadow || !slices.Contains(j.shadow, at.rule) {
			all[at.judgedEvent] = strictest(all[at.judgedEvent], findings)
		}
	}
	return all
}

// strictest returns the strictest of an action and those that findings ask for.
func strictest(a policy.Action, findings []finding) policy.Action {
	for _, f := range findings {
		if f.Would.StricterThan(a) {
			a = f.Would
		}
	}
	return a
}

// sameFindings reports whether the same was found, in whatever order, and the same would become of it.
func sameFindings(a, b []finding) bool {
	type what struct {
		kind, text string
		action     policy.Action
	}
	counted := func(list []finding) map[what]int {
		counts := map[what]int{}
		for _, f := range list {
			counts[what{kind: f.Type, text: f.text[f.Start:f.End], action: f.Would}]++
		}
		return counts
	}
	return maps.Equal(counted(a), counted(b))
}
