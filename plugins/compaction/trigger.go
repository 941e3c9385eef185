package compaction

import (
	"strings"
	"time"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/session"
)

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

// overflowing matches what providers say when a prompt is too long: Gemini, OpenAI and those with its
// protocol, Anthropic, llama.cpp, vLLM, Bedrock.
var overflowing = lazyregexp.New(`(?i)` + strings.Join([]string{
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
	case "RESOURCE_EXHAUSTED",
		"UNAVAILABLE",
		"DEADLINE_EXCEEDED": // a quota of tokens is not a limit of the prompt
		return false
	}
	return overflowing.MatchString(e.ErrorCode) || overflowing.MatchString(e.ErrorMessage)
}
