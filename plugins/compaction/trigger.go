package compaction

import (
	"regexp"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// triggered returns what asks for a compaction of a view, "" if nothing does.
func (k *keeper) triggered(m meter, live []*session.Event, branch string) string {
	if m.view(live, branch)+m.beside >= k.Trigger {
		return "tokens"
	}
	events, invocations := 0, map[string]bool{}
	for i, e := range live {
		if i == 0 && e.Marker() || live[0].Marker() && e.Seq < live[0].Seq {
			continue
		}
		events++
		invocations[e.InvocationID] = true
	}
	switch {
	case k.Events > 0 && events >= k.Events:
		return "events"
	case k.Invocations > 0 && len(invocations) >= k.Invocations:
		return "invocations"
	}
	return ""
}

// idle reports whether the session goes on after a pause.
func (k *keeper) idle(inv *session.Invocation) bool {
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

// overflowing matches what providers say when a prompt is too long: Gemini, OpenAI and those that speak its
// protocol, Anthropic, llama.cpp, vLLM, Bedrock.
var overflowing = regexp.MustCompile(`(?i)context_length_exceeded|exceed_context_size|maximum context length|context (?:length|window|size)[^.]{0,40}exceed|exceed[^.]{0,60}(?:context (?:length|window|size)|maximum number of (?:input )?tokens|token limit)|token count[^.]{0,40}exceeds|(?:prompt|input|request) is too long|too many (?:input )?tokens`)

// overflow reports whether an event is the model's failure because of a prompt that was too long.
func overflow(e *session.Event) bool {
	if e.ErrorCode == "" || e.ErrorCode == session.Denied || e.Author == session.User || strings.HasPrefix(e.Author, session.PluginPrefix) {
		return false
	}
	switch e.ErrorCode {
	case "RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED": // a quota of tokens is no limit of the prompt
		return false
	}
	return overflowing.MatchString(e.ErrorCode) || overflowing.MatchString(e.ErrorMessage)
}
