package guardrail

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// A cut is a part of a text that becomes something else: the findings that overlap are one.
type cut struct {
	start, end int
	by         *Finding // the strictest, and then the first: see compare
}

// cuts appends the parts of a text that its findings, which are in order, take out, in order and apart from one another.
// What blocks is taken out like what is redacted, for what is kept of a blocked text.
func cuts(list []cut, findings []Finding) []cut {
	for i := range findings {
		f := &findings[i]
		if !f.Action.hides() || f.whole() {
			continue
		}
		n := len(list) - 1
		if n < 0 || f.Start >= list[n].end {
			list = append(list, cut{f.Start, f.End, f})
			continue
		}
		last := &list[n]
		if last.end = max(last.end, f.End); f.Action.strictness() > last.by.Action.strictness() {
			last.by = f
		}
	}
	return list
}

// edited returns the text from one byte of the original to another, with its cuts made.
func (p *Policy) edited(text string, list []cut, at, end int) string {
	var b strings.Builder
	b.Grow(end - at + 16*len(list))
	for _, c := range list {
		if c.end > end {
			break
		}
		b.WriteString(text[at:c.start])
		p.put(&b, c, text[c.start:c.end])
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
	var b strings.Builder
	p.put(&b, c, was)
	return b.String()
}

// put writes what stands in a cut's place.
func (p *Policy) put(b *strings.Builder, c cut, was string) {
	switch c.by.Action {
	case Mask:
		if c.by.View == view.RawView && c.by.Start == c.start && c.by.End == c.end {
			b.WriteString(masked(was))
			return
		}
	case Hash:
		b.WriteString("[" + c.by.Type + ":" + p.keys.fingerprint(c.by.Type, was) + "]")
		return
	case Vaulted:
		b.WriteString(p.keys.seal(c.by.Type, was))
		return
	case Replace:
		b.WriteString(c.by.with)
		return
	}
	b.WriteByte('[')
	b.WriteString(c.by.Type)
	b.WriteByte(']')
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
