package guardrail

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"unicode/utf8"

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

// streaming is one partial event of a stream.
type streaming struct {
	*stream
	*judgment
	parts   []*genai.Part // what is shown
	blocked *judgedItem
}

func (s *streaming) part(p *genai.Part) {
	f, other := &s.stream.said, &s.stream.thought
	switch {
	case p == nil || p.Text == "":
		f.gap, other.gap = true, true
	case p.Thought:
		f, other = other, f
		fallthrough
	default:
		if f.gap && len(f.raw) > 0 {
			f.gaps = append(f.gaps, len(f.raw))
		}
		f.gap, other.gap = false, true
		if f.dark = f.dark || len(f.raw)+len(p.Text) > s.policy.maxBytes; !f.dark {
			f.raw = append(f.raw, p.Text...)
		}
	}
	if p != nil && p.Text == "" && p.InlineData != nil { // calls, answers and files are shown once they are whole; sounds and pictures come in pieces
		if d := p.InlineData; !textual(d.MIMEType) && s.clean(d.MIMEType) {
			s.parts = append(s.parts, &genai.Part{InlineData: &genai.Blob{MIMEType: d.MIMEType, Data: d.Data}})
		}
	}
}

// clean reports whether nothing is to be hidden in a label.
func (s *streaming) clean(label string) bool {
	if usualLabel.MatchString(label) {
		return true
	}
	scope := s.scope
	at := s.policy.at(s.stage(), &scope)
	var v Verdict
	at.text(&v, alone, label, nil)
	s.policy.finish(&v, label)
	return v.Text == label && v.Action != Block
}

// show shows what is settled of a text. It is looked at again when it has grown by a 128th.
func (s *streaming) show(f *flow, thought bool) {
	if s.blocked != nil || f.dark || len(f.raw) == f.shown || len(f.raw)-f.looked < len(f.raw)/128 || len(f.raw) == f.looked {
		return
	}
	f.looked = len(f.raw)
	text := string(f.raw)
	scope := s.scope
	at := s.policy.at(s.stage(), &scope)
	s.current = &judgedItem{item: item{stage: s.stage(), thought: thought}}
	var v Verdict
	at.text(&v, s.nameless, text, f.gaps)
	settled := at.settled(s.nameless, text, f.gaps)
	holds := at.waits()
	if !holds {
		at.whole(&v, text)
	}
	held := settled
	if later, ok := s.maybe(); ok { // what an answer that comes after the text would hide is not shown before
		if other := s.policy.at(s.stage(), &later); !slices.Equal(other.rules, at.rules) || slices.ContainsFunc(at.rules, func(r *rule) bool { return r.when != nil && r.when.taint }) {
			held, holds = s.held(other, &v, text, f.gaps), holds || other.waits()
		}
	}
	s.policy.finish(&v, text)
	for _, f := range v.Findings {
		if f.Action == Block && (f.End <= settled || f.whole() && !holds) {
			s.current.verdict = v
			s.blocked = s.current
			for i := range v.Findings {
				s.record(s.stage(), &v.Findings[i], text)
			}
			s.err = v.Err
			return
		}
	}
	if holds {
		return
	}
	settled = min(settled, held)
	list := cuts(nil, v.Findings)
	for _, c := range list {
		if c.start < f.shown && c.end > f.shown { // a detector has broken its word: the rest comes with the whole
			f.dark = true
			return
		}
		if c.start < settled && c.end > settled {
			settled = c.start
		}
	}
	for settled > f.shown && settled < len(text) && !utf8.RuneStart(text[settled]) {
		settled--
	}
	if settled <= f.shown {
		return
	}
	rest := slices.DeleteFunc(list, func(c cut) bool { return c.start < f.shown })
	if show := s.policy.edited(text, rest, f.shown, settled); show != "" {
		s.parts = append(s.parts, &genai.Part{Text: show, Thought: thought})
	}
	f.shown = settled
}
