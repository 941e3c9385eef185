package guardrail

import (
	"context"
	"reflect"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// stream is an event that is being made: what it says, and what it thinks.
type stream struct {
	mu            sync.Mutex
	said, thought flow
	had           []string // the tools whose answers came
}

// flow is a text that comes in pieces, with whatever between them.
type flow struct {
	raw    []byte
	gaps   []int // where something else came
	gap    bool  // it comes now
	shown  int   // bytes of raw that were shown, edited
	looked int   // bytes of raw when it was judged last
	dark   bool  // nothing more of it is shown: it has grown too long
}

// maxStreams is how many events of a run may be in the making; of others nothing is shown before they are whole.
const maxStreams = 64

// partial answers a partial event: it becomes what no continuation of the stream will change.
func (g *guard) partial(ctx context.Context, inv *session.Invocation, r *running, e *session.Event) plugin.Outcome {
	s := r.stream(e.ID)
	if s == nil {
		return plugin.Outcome{Withhold: true}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shows := &streaming{stream: s}
	shows.judgment, _ = g.judge(r.policy, inv, e, func(*walker, *judgment) {})
	s.had = append(s.had, answering(e)...)
	shows.sees(s.had)
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			shows.part(p)
		}
	}
	shows.show(&s.thought, true)
	shows.show(&s.said, false)
	if shows.blocked != nil {
		s.said.dark, s.thought.dark = true, true
		g.report(ctx, shows.judgment, e.ID)
		return shows.refusal(shows.blocked)
	}
	if shows.parts == nil {
		return plugin.Outcome{Withhold: true}
	}
	if unchanged(e, shows.parts) {
		return plugin.Outcome{}
	}
	// Of what else a partial event may have, nothing was judged; the whole one has it.
	c := &session.Event{TurnComplete: e.TurnComplete, Interrupted: e.Interrupted, Content: &genai.Content{Parts: shows.parts}}
	if usualLabel.MatchString(e.Content.Role) {
		c.Content.Role = e.Content.Role
	}
	return plugin.Outcome{Replace: c}
}

// stream returns what is known of an event in the making; nil if there are too many.
func (r *running) stream(event string) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[event]
	if s == nil && len(r.streams) < maxStreams {
		s = &stream{}
		r.streams[event] = s
	}
	return s
}

// unchanged reports whether the event is a text, and that is what is shown.
func unchanged(e *session.Event, parts []*genai.Part) bool {
	if len(e.Content.Parts) != 1 || len(parts) != 1 || !reflect.DeepEqual(e.Content.Parts[0], parts[0]) {
		return false
	}
	for _, label := range []string{e.ErrorCode, string(e.FinishReason), e.Content.Role} {
		if !usualLabel.MatchString(label) {
			return false
		}
	}
	return e.ErrorMessage == "" && len(e.CustomMetadata) == 0 && len(e.Extra) == 0 && e.GroundingMetadata == nil && e.CitationMetadata == nil && reflect.ValueOf(e.Actions).IsZero() && unknown(e) == nil
}
