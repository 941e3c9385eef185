package guardrail

import (
	"slices"
	"unicode/utf8"

	"google.golang.org/genai"
)

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
