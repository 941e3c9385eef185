package guardrail

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/view"
)

// A cut is a part of a text that becomes something else: the findings that overlap are one.
type cut struct {
	start, end int
	by         Finding // the strictest, and then the first: see compare
	action     Action
}

// cuts returns the parts of a text that its findings take out, in order and apart from one another. What blocks is taken
// out like what is redacted, for what is kept of a blocked text.
func cuts(findings []Finding) []cut {
	var list []cut
	for _, f := range findings {
		if !f.Action.hides() || f.whole() {
			continue
		}
		c := cut{f.Start, f.End, f, f.Action}
		if f.Action == Block {
			c.action = Redact
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b cut) int { return a.by.compare(&b.by) })
	joined := list[:0]
	for _, c := range list {
		n := len(joined) - 1
		if n < 0 || c.start >= joined[n].end {
			joined = append(joined, c)
			continue
		}
		last := &joined[n]
		if last.end = max(last.end, c.end); c.action.strictness() > last.action.strictness() {
			last.by, last.action = c.by, c.action
		}
	}
	return joined
}

// edited returns the text from one byte of the original to another, with its cuts made.
func (p *Policy) edited(text string, list []cut, at, end int) string {
	var b strings.Builder
	for _, c := range list {
		if c.end > end {
			break
		}
		b.WriteString(text[at:c.start])
		b.WriteString(p.instead(c, text[c.start:c.end]))
		at = c.end
	}
	b.WriteString(text[at:end])
	return b.String()
}

// parted is edited for the beginning of a text in parts, that divides no cut: what becomes of a cut stands in the part in
// which it begins.
func (p *Policy) parted(text string, list []cut, ends []int, settled int) []string {
	parts := make([]string, len(ends))
	at := 0
	for i, end := range ends {
		end = min(end, settled)
		n := 0
		for n < len(list) && list[n].start < end {
			n++
		}
		if n > 0 {
			last := list[n-1].end
			parts[i] = p.edited(text, list[:n], at, last)
			at, list = last, list[n:]
		}
		if at < end {
			parts[i] += text[at:end]
			at = end
		}
	}
	return parts
}

// instead returns what stands in a cut's place.
func (p *Policy) instead(c cut, was string) string {
	switch c.action {
	case Mask:
		if c.by.View == view.RawView && c.by.Start == c.start && c.by.End == c.end {
			return masked(was)
		}
	case Hash:
		return "[" + c.by.Type + ":" + p.keys.fingerprint(c.by.Type, was) + "]"
	case Vaulted:
		return p.keys.seal(c.by.Type, was)
	case Replace:
		return c.by.with
	}
	return "[" + c.by.Type + "]"
}

// masked stars every character but spaces and the marks that numbers and addresses are written with, and but for the last
// four if there are eight or more.
func masked(text string) string {
	n := 0
	for _, r := range text {
		if !divides(r) {
			n++
		}
	}
	if n < 8 {
		n += 4
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case divides(r):
			b.WriteRune(r)
		default:
			if n--; n < 4 && r != utf8.RuneError {
				b.WriteRune(r)
			} else {
				b.WriteByte('*')
			}
		}
	}
	return b.String()
}

func divides(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("-./@:,()+_", r) }
