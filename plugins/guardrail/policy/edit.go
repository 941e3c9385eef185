package policy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
)

// An Edit is what a verdict takes out of a text, and puts in its place. Findings that overlap are
// taken out as one.
type Edit struct {
	policy *Policy
	text   string
	cuts   []cut
}

// Edit returns what a verdict, after Finish or Decide, takes out of its text.
func (p *Policy) Edit(v *Verdict, text string) Edit {
	return Edit{policy: p, text: text, cuts: appendCuts(nil, v.Findings)}
}

// JSON returns the text, which is JSON, edited so that it still is.
func (e Edit) JSON() string {
	cuts := make([]jsonvalue.Cut, len(e.cuts))
	for i, c := range e.cuts {
		cuts[i] = jsonvalue.Cut{Start: c.start, End: c.end, Instead: func(was string) string {
			var b strings.Builder
			e.policy.put(&b, c, was)
			return b.String()
		}}
	}
	return jsonvalue.Edit(e.text, cuts)
}

// Between returns the text from one byte of the original to another, edited. Both have to divide no
// finding.
func (e Edit) Between(from, to int) string {
	cuts := e.cuts
	for len(cuts) > 0 && cuts[0].start < from {
		cuts = cuts[1:]
	}
	return e.policy.edited(e.text, cuts, from, to)
}

// Divides reports whether a byte is inside of what is taken out.
func (e Edit) Divides(at int) bool {
	for _, c := range e.cuts {
		if c.start < at && c.end > at {
			return true
		}
	}
	return false
}

// Whole returns the last byte up to a given one that divides neither what is taken out nor a
// character.
func (e Edit) Whole(at int) int {
	for _, c := range e.cuts {
		if c.start < at && c.end > at {
			at = c.start
		}
	}
	for at > 0 && at < len(e.text) && !utf8.RuneStart(e.text[at]) {
		at--
	}
	return at
}

// Parts returns the text up to a byte, edited, in parts that end at given bytes of the original.
// What stands in the place of a finding is in the part in which the finding begins. The byte up to
// which the text goes divides no finding.
func (e Edit) Parts(ends []int, to int) []string {
	parts := make([]string, len(ends))
	cuts := e.cuts
	at := 0
	for i, end := range ends {
		end = min(end, to)
		n := 0 // how many cuts begin in this part
		for n < len(cuts) && cuts[n].start < end {
			n++
		}
		if n > 0 {
			last := cuts[n-1].end
			parts[i] = e.policy.edited(e.text, cuts[:n], at, last)
			at = last
			cuts = cuts[n:]
		}
		if at < end {
			parts[i] += e.text[at:end]
			at = end
		}
	}
	return parts
}

// Left returns what a verdict leaves of a text. The verdict need not be finished, and stays as it
// is. A text that is JSON need not be JSON afterwards.
func (p *Policy) Left(v *Verdict, text string) judging.Left {
	findings := slices.Clone(v.Findings)
	slices.SortFunc(findings, func(a, b Finding) int { return a.compare(&b) })
	var l judging.Left
	var b strings.Builder
	at := 0
	for _, c := range appendCuts(nil, findings) {
		b.WriteString(text[at:c.start])
		p.put(&b, c, text[c.start:c.end])
		l.Cuts = append(l.Cuts, judging.Cut{Start: c.start, End: c.end, LeftEnd: b.Len()})
		at = c.end
	}
	b.WriteString(text[at:])
	l.Text = b.String()
	return l
}

// cut is a part of a text that becomes something else.
type cut struct {
	start, end int
	by         *Finding // of the findings that overlap there, the strictest, and of these the first
}

// appendCuts appends what findings, which are in order, take out of a text, in order. What blocks
// is taken out like what is redacted, for what is kept of a blocked text.
func appendCuts(cuts []cut, findings []Finding) []cut {
	for i := range findings {
		f := &findings[i]
		if !f.Action.Hides() || f.Whole() {
			continue
		}
		n := len(cuts) - 1
		if n < 0 || f.Start >= cuts[n].end {
			cuts = append(cuts, cut{start: f.Start, end: f.End, by: f})
			continue
		}
		last := &cuts[n]
		last.end = max(last.end, f.End)
		if f.Action.StricterThan(last.by.Action) {
			last.by = f
		}
	}
	return cuts
}

// edited returns the text from one byte of the original to another, with cuts made.
func (p *Policy) edited(text string, cuts []cut, from, to int) string {
	var b strings.Builder
	b.Grow(to - from + 16*len(cuts))
	at := from
	for _, c := range cuts {
		if c.end > to {
			break
		}
		b.WriteString(text[at:c.start])
		p.put(&b, c, text[c.start:c.end])
		at = c.end
	}
	b.WriteString(text[at:to])
	return b.String()
}

// put writes the replacement of a cut: a mask, a hash, a token of the vault, or the type in brackets.
func (p *Policy) put(b *strings.Builder, c cut, was string) {
	switch c.by.Action {
	case Mask:
		// Only a finding that stands there as it was found has characters to leave.
		if c.by.View == view.RawView && c.by.Start == c.start && c.by.End == c.end {
			b.WriteString(masked(was))
			return
		}
	case Hash:
		b.WriteString("[" + c.by.Type + ":" + p.keys.Fingerprint(c.by.Type, was) + "]")
		return
	case Vaulted:
		b.WriteString(p.keys.Seal(c.by.Type, was))
		return
	case Replace:
		b.WriteString(c.by.with)
		return
	}
	b.WriteByte('[')
	b.WriteString(c.by.Type)
	b.WriteByte(']')
}

// masked returns a text with * for its characters, but for spaces, for the marks that numbers and
// addresses are written with, and for the last four characters of eight or more.
func masked(text string) string {
	left := 0 // characters from here to the end
	for _, r := range text {
		if !divides(r) {
			left++
		}
	}
	if left < 8 {
		left += 4 // so that none is among the last four
	}
	var b strings.Builder
	for _, r := range text {
		if divides(r) {
			b.WriteRune(r)
			continue
		}
		left--
		if left < 4 && r != utf8.RuneError {
			b.WriteRune(r)
		} else {
			b.WriteByte('*')
		}
	}
	return b.String()
}

func divides(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("-./@:,()+_", r) }
