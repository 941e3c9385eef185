package guardrail

import (
	"context"
	"reflect"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// add adds a piece.
func (s *textStream) add(piece string, maxBytes int) {
	if s.gap && s.raw.Len() > 0 {
		s.gaps = append(s.gaps, s.raw.Len())
	}
	s.gap = false
	if s.raw.Len()+len(piece) > maxBytes {
		s.dark = true
	}
	if !s.dark {
		s.raw.WriteString(piece)
	}
}

// due reports whether the text is to be judged: it has grown enough for what is read again for that,
// and for what is held back.
func (s *textStream) due() bool {
	grown := s.raw.Len() - s.judged
	if s.dark || grown == 0 || s.raw.Len() == s.shown {
		return false
	}
	held := s.raw.Len() - s.shown
	return grown >= s.progress.Wait() && grown >= (held-mostHeld)/2
}

// mostHeld is how much of a text may be held back, in bytes, while each piece of it is judged.
const mostHeld = 64

// maxStreams is how many events of a run may come in pieces at once. Nothing is shown of others
// before they are whole.
const maxStreams = 64

// stream returns what is known of an event that comes in pieces; nil if there are too many.
func (r *runState) stream(event string) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[event]
	if s == nil && len(r.streams) < maxStreams {
		s = &stream{}
		r.streams[event] = s
	}
	return s
}

// endStream forgets a stream, if the event came in pieces, and returns the tools whose answers came
// in it.
func (r *runState) endStream(event string) (tools []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[event]
	if s == nil {
		return nil
	}
	delete(r.streams, event)
	return s.tools
}

// partial answers a partial event: it becomes what no continuation of the stream will change.
func (g *guard) partial(ctx context.Context, inv *session.Invocation, r *runState,
	e *session.Event) plugin.Outcome {
	s := r.stream(e.ID)
	if s == nil {
		return plugin.Outcome{Withhold: true}
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	// Add the event's pieces to the stream. Most of them are too small for the text to be judged.
	s.tools = append(s.tools, toolsIn(e)...)
	var parts []*genai.Part
	if e.Content != nil {
		parts = e.Content.Parts
	}
	other := false
	for _, p := range parts {
		s.add(p, r.policy.MaxBytes())
		other = other || p != nil && p.Text == ""
	}
	if !other && !s.thought.due() && !s.visible.due() {
		return plugin.Outcome{Withhold: true}
	}
	piece := &streamPiece{stream: s}
	piece.evaluation, _ = g.evaluate(r.policy, inv, e, func(*walk.Walker, *evaluation) {})
	piece.taint(s.tools)
	piece.sawAnswers(s.tools)
	for _, p := range parts {
		piece.addMedia(p)
	}

	// Show what is settled. A stream that is blocked ends with a refusal.
	piece.show(&s.thought, true)
	piece.show(&s.visible, false)
	if piece.blocked != nil {
		s.visible.dark = true
		s.thought.dark = true
		g.report(ctx, piece.evaluation, e.ID)
		return piece.refusal(piece.blocked)
	}
	if piece.parts == nil {
		return plugin.Outcome{Withhold: true}
	}
	if shownAsIs(e, piece.parts) {
		return plugin.Outcome{}
	}

	// Nothing else that a partial event may have was judged; the whole event has it.
	c := &session.Event{
		TurnComplete: e.TurnComplete,
		Interrupted:  e.Interrupted,
		Content:      &genai.Content{Parts: piece.parts},
	}
	if walk.UsualLabel(e.Content.Role) {
		c.Content.Role = e.Content.Role
	}
	return plugin.Outcome{Replace: c}
}

// add adds a part to the stream's texts.
func (s *stream) add(p *genai.Part, maxBytes int) {
	switch {
	case p == nil || p.Text == "":
		s.visible.gap = true
		s.thought.gap = true
	case p.Thought:
		s.thought.add(p.Text, maxBytes)
		s.visible.gap = true
	default:
		s.visible.add(p.Text, maxBytes)
		s.thought.gap = true
	}
}

// addMedia adds a part to what is shown that is no text. Sounds and pictures come in pieces, and are
// shown. Calls, answers and files are shown once they are whole.
func (s *streamPiece) addMedia(p *genai.Part) {
	if p == nil || p.Text != "" || p.InlineData == nil {
		return
	}
	d := p.InlineData
	if !walk.MayBeText(d.MIMEType) && s.cleanLabel(d.MIMEType) {
		s.parts = append(s.parts, &genai.Part{InlineData: &genai.Blob{MIMEType: d.MIMEType,
			Data: d.Data}})
	}
}

// cleanLabel reports whether nothing is to be hidden in a word for programs.
func (s *streamPiece) cleanLabel(label string) bool {
	if walk.UsualLabel(label) {
		return true
	}
	scope := s.scope
	var v policy.Verdict
	s.policy.At(&scope, s.stage()).Find(&v, nil, label, nil)
	s.policy.Finish(&v, label)
	return v.Text == label && v.Action != policy.Block
}

// show shows what is settled of a text.
func (s *streamPiece) show(t *textStream, thought bool) {
	if s.blocked != nil || !t.due() {
		return
	}
	t.judged = t.raw.Len()
	text := t.raw.String()
	scope := s.scope
	active := s.policy.At(&scope, s.stage())
	s.current = &evaluatedItem{Item: walk.Item{Stage: s.stage(), Thought: thought}}

	// Judge the text so far. What is after settled, a continuation may change.
	var v policy.Verdict
	settled := active.FindSettled(&v, &t.progress, s.headsWithoutName, text, t.gaps)
	waits := active.Waits()
	if !waits {
		active.Whole(&v, text)
	}
	show := settled

	// What an answer of a tool that is still to come would hide is not shown before it.
	if scope, ok := s.scopeOfLater(); ok {
		later := s.policy.At(&scope, s.stage())
		if !later.DecidesLike(active) {
			var other policy.Verdict
			show = min(show, later.FindSettled(&other, &t.progress, s.headsWithoutName, text, t.gaps))
			later.Whole(&other, text)
			show = v.AgreesUpTo(&other, show)
			waits = waits || later.Waits()
		}
	}

	// Block the stream as soon as a finding that blocks is settled.
	s.policy.Decide(&v)
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Action == policy.Block && (f.End <= settled || f.Whole() && !waits) {
			s.block(&v, text)
			return
		}
	}
	if waits {
		return
	}

	// Show the text up to what is settled, with findings edited, and no character divided.
	edit := s.policy.Edit(&v, text)
	// a detector has broken its promise: the rest comes with the whole event
	if edit.Divides(t.shown) {
		t.dark = true
		return
	}
	show = edit.Whole(show)
	if show <= t.shown {
		return
	}
	piece := edit.Between(t.shown, show)
	if piece != "" {
		s.parts = append(s.parts, &genai.Part{Text: piece, Thought: thought})
	}
	t.shown = show
	t.progress.Shown(show)
}

// block blocks the stream by a verdict on its text so far.
func (s *streamPiece) block(v *policy.Verdict, text string) {
	s.current.verdict = *v
	s.blocked = s.current
	for i := range v.Findings {
		s.record(s.stage(), &v.Findings[i], text)
	}
	s.err = v.Err
}

// shownAsIs reports whether an event is nothing but a text, and that is what is shown.
func shownAsIs(e *session.Event, parts []*genai.Part) bool {
	if len(e.Content.Parts) != 1 || len(parts) != 1 {
		return false
	}
	was := e.Content.Parts[0]
	if was == nil || was.Text != parts[0].Text || !reflect.DeepEqual(was, parts[0]) {
		return false
	}
	for _, label := range []string{e.ErrorCode, string(e.FinishReason), e.Content.Role} {
		if !walk.UsualLabel(label) {
			return false
		}
	}
	return reflect.ValueOf(e.Actions).IsZero() && walk.OnlyContent(e)
}
