package guardrail

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/view"
	"github.com/plughook/plughook/session"
)

// stream is an event that is being made.
type stream struct {
	mu      sync.Mutex
	raw     []byte // the text that comes now: of neighbouring parts of one kind
	thought bool
	shown   int        // bytes of raw that were shown, edited
	looked  int        // bytes of raw when it was judged last
	dark    bool       // nothing more of it is shown: it has grown too long
	said    []saidText // the texts that came before
	had     []string   // the tools whose answers came
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
	shows.judgment.said = s.said
	s.had = append(s.had, answering(e)...)
	shows.sees(s.had)
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			shows.part(p)
		}
	}
	if shows.blocked != nil {
		s.dark = true
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
	c := &session.Event{TurnComplete: e.TurnComplete, Interrupted: e.Interrupted, Content: &genai.Content{Role: e.Content.Role, Parts: shows.parts}}
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
	return e.ErrorMessage == "" && len(e.CustomMetadata) == 0 && len(e.Extra) == 0 && e.GroundingMetadata == nil && e.CitationMetadata == nil && reflect.ValueOf(e.Actions).IsZero()
}

// streaming is one partial event of a stream.
type streaming struct {
	*stream
	*judgment
	parts   []*genai.Part // what is shown
	blocked *judgedItem
}

func (s *streaming) part(p *genai.Part) {
	switch {
	case p == nil:
	case p.Text != "":
		if p.Thought != s.thought {
			s.close()
			s.thought = p.Thought
		}
		if s.dark = s.dark || len(s.raw)+len(p.Text) > s.policy.maxBytes; !s.dark {
			s.raw = append(s.raw, p.Text...)
			s.show(false)
		}
	default: // calls, answers and files are shown once they are whole; sounds and pictures come in pieces
		s.close()
		if d := p.InlineData; d != nil && s.blocked == nil && !textual(d.MIMEType) {
			s.parts = append(s.parts, &genai.Part{InlineData: &genai.Blob{MIMEType: d.MIMEType, Data: d.Data}})
		}
	}
}

// close shows the rest of the text, which is whole.
func (s *streaming) close() {
	if !s.dark {
		s.show(true)
	}
	if s.policy.windows() && len(s.raw) > 0 {
		s.stream.said = append(s.stream.said, saidText{s.stage(), string(s.raw)})
		s.judgment.said = s.stream.said
	}
	s.raw, s.shown, s.looked = s.raw[:0], 0, 0
}

// show shows what is settled of the text. It is looked at again when it has grown by a 128th.
func (s *streaming) show(whole bool) {
	if s.blocked != nil || len(s.raw) == s.shown || !whole && len(s.raw)-s.looked < len(s.raw)/128 {
		return
	}
	s.looked = len(s.raw)
	text := string(s.raw)
	scope := s.scope
	at := s.policy.at(s.stage(), &scope)
	s.current = &judgedItem{item: item{stage: s.stage()}}
	var v Verdict
	at.text(&v, s.nameless, text)
	settled := len(text)
	if !whole {
		settled = at.settled(s.nameless, text)
	}
	holds := at.waits()
	if !holds || whole {
		at.whole(&v, text)
	}
	held := len(text)
	if later, ok := s.maybe(); ok { // what an answer that comes after the text would hide is not shown before
		if other := s.policy.at(s.stage(), &later); !slices.Equal(other.rules, at.rules) || slices.ContainsFunc(at.rules, func(r *rule) bool { return r.when != nil && r.when.taint }) {
			held, holds = s.held(other, &v, text, whole), holds || other.waits()
		}
	}
	s.policy.finish(&v, text)
	for _, f := range v.Findings {
		if f.Action == Block && (f.End <= settled || f.Type == typeLength || f.whole() && !holds) {
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
	if settled = min(settled, held); whole && held < len(text) {
		s.dark = true
	}
	list := cuts(v.Findings)
	for _, c := range list {
		if c.start < settled && c.end > settled {
			settled = c.start
		}
	}
	for settled > s.shown && settled < len(text) && !utf8.RuneStart(text[settled]) {
		settled--
	}
	if settled <= s.shown {
		return
	}
	rest := slices.DeleteFunc(list, func(c cut) bool { return c.start < s.shown })
	if show := s.policy.edited(text, rest, s.shown, settled); show != "" {
		s.parts = append(s.parts, &genai.Part{Text: show, Thought: s.thought})
	}
	s.shown = settled
}

// held returns where that of a text begins of which other rules make something else than the verdict.
func (s *streaming) held(at *judging, v *Verdict, text string, whole bool) int {
	held := len(text)
	if !whole {
		held = at.settled(s.nameless, text)
	}
	var other Verdict
	at.text(&other, s.nameless, text)
	at.whole(&other, text)
	for _, lists := range [][2][]Finding{{v.Findings, other.Findings}, {other.Findings, v.Findings}} {
		for _, f := range lists[0] {
			if f.Action.strictness() > Flag.strictness() && !slices.Contains(lists[1], f) {
				held = min(held, f.Start)
			}
		}
	}
	return held
}

// settled returns how much of a text no continuation changes, for all the rules that change texts, and all views.
func (j *judging) settled(before before, text string) int {
	settled := len(text)
	for _, window := range []string{"part", "turn", "session"} {
		var open []detect.Detector
		for d, detector := range j.detectors {
			if slices.ContainsFunc(j.rules, func(r *rule) bool { return r.cuts() && r.window == window && r.asks(d) }) {
				open = append(open, detector)
			}
		}
		if open == nil {
			continue
		}
		least := func(text string) int {
			n := len(text)
			for _, d := range open {
				n = min(n, d.Open(text))
			}
			return n
		}
		for _, head := range before(window) {
			settled = min(settled, max(0, view.Settled(head+text, least)-len(head)))
		}
	}
	return settled
}

// cuts reports whether the rule may take something out of a text, or stop it.
func (r *rule) cuts() bool { return !r.shadow && r.strictest().strictness() > Flag.strictness() }

// asks reports whether the rule asks a detector.
func (r *rule) asks(detector int) bool {
	return slices.ContainsFunc(r.uses, func(u use) bool { return u.detector == detector })
}

// waits reports whether a rule can only judge the whole text, or its judge can: nothing of it is then shown before.
func (j *judging) waits() bool {
	return slices.ContainsFunc(j.rules, func(r *rule) bool {
		if r.ask != nil && r.ask.onError == Block && !r.shadow && !j.shadow {
			return true
		}
		return !r.shadow && !j.shadow && r.strictest().hides() && (r.whole() && r.length == 0 || r.when != nil && r.when.text)
	})
}
