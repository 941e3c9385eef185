package guardrail

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/provider"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// What tools have answered, and what rules have found, is noted in the session's state, in the event that brings it,
// each under a key that begins with this. So each process that reads the log knows the same, it outlasts a compaction,
// a rewind takes it back, and the runner lets nobody else write it.
func (g *guard) seenPrefix() string { return g.Name + ":seen:" }

// seenKey is the key of one thing.
func (g *guard) seenKey(s policy.Seen) string {
	return g.seenPrefix() + url.QueryEscape(s.Tool) + ":" + url.QueryEscape(s.Rule) + ":" + url.QueryEscape(s.Type)
}

// seenIn returns what the state says that the session has had, in the order of the keys.
func (g *guard) seenIn(state map[string]any) (list []policy.Seen) {
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if !strings.HasPrefix(key, g.seenPrefix()) {
			continue
		}
		value, _ := state[key].(map[string]any)
		text := func(name string) string { s, _ := value[name].(string); return s }
		list = append(list, policy.Seen{
			Tool: text("tool"), Rule: text("rule"), Type: text("type"), Event: text("event"), Turn: text("turn"),
		})
	}
	return list
}

// saw notes something that the event at hand brings, once in a turn.
func (ev *evaluation) saw(s policy.Seen) {
	s.Event = ev.event.ID
	s.Turn = ev.scope.Turn
	same := func(other policy.Seen) bool {
		return other.Tool == s.Tool && other.Rule == s.Rule && other.Type == s.Type && other.Turn == s.Turn
	}
	if ev.policy.flows && !slices.ContainsFunc(ev.scope.Seen, same) && !slices.ContainsFunc(ev.seen, same) {
		ev.seen = append(ev.seen, s)
	}
}

// sawAnswers notes that tools have answered. It counts for all of the event, whatever stands first.
func (ev *evaluation) sawAnswers(tools []string) {
	for _, name := range tools {
		ev.saw(policy.Seen{Tool: name})
	}
	ev.scope.Seen = append(slices.Clip(ev.scope.Seen), ev.seen...)
}

// sawFindings notes what rules have found in an item. It counts for later events: of what an agent says, a part may be
// shown already.
func (ev *evaluation) sawFindings(t *evaluatedText) {
	tool := ""
	if t.item.Stage == policy.ToolResult {
		tool = t.item.Tool
	}
	for _, f := range t.verdict.Findings {
		if f.Would.StricterThan(policy.Approve) {
			ev.saw(policy.Seen{Tool: tool, Rule: f.Rule, Type: f.Type})
		}
	}
}

// sawInAnswers notes what rules find in the answers of a provider's tools, before anything else of the event is
// judged: it counts for all of it.
func (ev *evaluation) sawInAnswers(judge func(*evaluation)) {
	if !ev.policy.flows || ev.event.Author == session.User || ev.event.Content == nil {
		return
	}
	if !slices.ContainsFunc(ev.event.Content.Parts, func(p *genai.Part) bool {
		return p != nil && (p.ToolResponse != nil || p.CodeExecutionResult != nil)
	}) {
		return
	}
	before := &evaluation{
		guard: &guard{Config: Config{Name: ev.guard.Name}}, policy: ev.policy, inv: ev.inv, event: ev.event,
		edits: map[int][]string{}, scope: ev.scope,
	}
	judge(before)
	for _, s := range before.seen {
		if s.Tool != "" {
			ev.saw(s)
		}
	}
	ev.scope.Seen = append(slices.Clip(ev.scope.Seen), ev.seen...)
}

// writeSeen writes into the event, after it was edited, what it brings. The name of a tool that was edited is the
// edited one.
func (ev *evaluation) writeSeen(before, after *session.Event) {
	names := toolsIn(&session.Event{Author: before.Author, Content: before.Content})
	edited := toolsIn(&session.Event{Author: after.Author, Content: after.Content})
	for _, s := range ev.seen {
		if n := slices.Index(names, s.Tool); n >= 0 {
			s.Tool = edited[n]
		}
		after.Actions.Set(ev.guard.seenKey(s), map[string]any{
			"tool": s.Tool, "rule": s.Rule, "type": s.Type, "event": s.Event, "turn": s.Turn,
		})
	}
}

// seenLater adds to a scope what answers of the provider's tools may bring to a stream.
func (ev *evaluation) seenLater(s *policy.Scope) (more bool) {
	if !ev.policy.flows {
		return false
	}
	s.Seen = slices.Clone(s.Seen)
	for _, tool := range provider.Tools() {
		s.Seen = append(s.Seen, policy.Seen{Tool: tool, Turn: s.Turn})
		for _, name := range ev.policy.Sources() {
			s.Seen = append(s.Seen, policy.Seen{Tool: tool, Rule: name, Type: name, Turn: s.Turn})
		}
	}
	return true
}
