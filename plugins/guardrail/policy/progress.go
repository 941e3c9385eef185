package policy

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
)

// Progress is how far the judging of a text that grows has come, so that the next time only what is
// new is judged, with as much of the text before it as may decide about it. The zero value is of a
// text that was not judged yet.
type Progress struct {
	readings []*reading
	shown    int  // nothing before this byte can be found again
	read     int  // bytes of the text at the last call of FindSettled
	wait     int  // by how many it should grow before the next one
	failed   bool // a detector panicked: nothing more of the text is settled

	// Room for what each call needs.
	used, cuts []bool
	hits       []hit
}

// FindSettled adds to the verdict what the rules' detectors find in a text that may go on, as far as
// that is settled and was not shown. Settled is how much of the text, in bytes, no continuation
// changes under the rules that take something out of a text or stop it. It is 0 if a detector
// panics, which the verdict says.
//
// Progress is that of the text, whose beginning was judged in the last call; other rules of the same
// policy may judge it in between. Before and gaps are those of Find.
func (a *Active) FindSettled(
	v *Verdict, p *Progress, before func(window string) []string, text string, gaps []int,
) (settled int) {
	if p.failed {
		return 0
	}
	defer a.recovering(v, text)
	p.failed = true
	if p.read != len(text) {
		p.read = len(text)
		p.wait = 0
	}
	open := len(text)
	for _, window := range windows {
		p.used = a.uses(p.used, func(r *rule) bool { return r.window == window && !r.whole() })
		if !slices.Contains(p.used, true) {
			continue
		}
		p.cuts = a.uses(p.cuts, func(r *rule) bool { return r.window == window && a.cuts(r) })

		// The text is read behind each of its heads, without spaces at its gaps and with them.
		p.hits = p.hits[:0]
		for _, head := range heads(before, window) {
			open = min(open, a.findBehind(p, head, text, nil))
			if gaps != nil {
				open = min(open, a.findBehind(p, head, text, gaps))
			}
		}
		a.applyAll(v, p.hits, window, text)
	}
	p.failed = false
	return open
}

// findBehind adds to the hits of a window what its detectors find in a text behind a head, with spaces
// at its gaps. It returns how much of the text is settled.
func (a *Active) findBehind(p *Progress, head, text string, gaps []int) (settled int) {
	r := p.reading(head, gaps != nil)
	r.take(a.policy, text, gaps)
	settled = len(text)
	known := len(p.hits)
	for number, used := range p.used {
		if !used {
			continue
		}
		f := r.follow(a.policy, number)
		p.wait = max(p.wait, f.wait)
		if p.cuts[number] {
			settled = min(settled, withoutSpaces(f.settled-len(head), gaps))
		}
		p.hits = f.appendHits(p.hits, p.shown, len(head), gaps)
	}
	if known > 0 {
		p.hits = append(p.hits[:known], uncovered(p.hits[:known], p.hits[known:])...)
	}
	return settled
}

// Shown notes that a text was shown up to a byte: what was found up to there is not needed again.
func (p *Progress) Shown(to int) {
	p.shown = to
	p.readings = slices.DeleteFunc(p.readings, func(r *reading) bool { return !r.used })
	for _, r := range p.readings {
		r.used = false
	}
}

// Wait returns by how many bytes the text should grow before FindSettled is called again, so that the
// work grows with the text's length and not with its square.
func (p *Progress) Wait() (bytes int) { return p.wait }

// reading returns one of the ways to read the text.
func (p *Progress) reading(head string, spaced bool) *reading {
	i := slices.IndexFunc(p.readings, func(r *reading) bool {
		return r.spaced == spaced && r.head == head
	})
	if i < 0 {
		i = len(p.readings)
		p.readings = append(p.readings, &reading{
			head:      head,
			spaced:    spaced,
			detectors: map[int]*followed{},
		})
	}
	p.readings[i].used = true
	return p.readings[i]
}

// A reading is one way to read a text that grows: behind a head, and with spaces at its gaps or
// without.
type reading struct {
	head   string
	spaced bool
	used   bool // since the text was shown last

	text      string          // as it is read
	made      strings.Builder // that, unless it is the text itself
	taken     int             // bytes of the text
	gaps      int             // that are in made
	views     view.Growth
	literals  [maxViews]literalsFound // by the number of a view
	detectors map[int]*followed
}

// take takes what is new of the text.
func (r *reading) take(p *Policy, text string, gaps []int) {
	if r.taken == len(text) && r.text != "" {
		return
	}
	if r.head == "" && !r.spaced {
		r.text = text
		r.taken = len(text)
	} else {
		if r.taken == 0 {
			r.made.WriteString(r.head)
		}
		for r.gaps < len(gaps) && gaps[r.gaps] < len(text) {
			r.made.WriteString(text[r.taken:gaps[r.gaps]])
			r.made.WriteByte(' ')
			r.taken = gaps[r.gaps]
			r.gaps++
		}
		r.made.WriteString(text[r.taken:])
		r.taken = len(text)
		r.text = r.made.String()
	}
	r.views.Grow(r.text, r.split)
	if p.literals != nil {
		for number, v := range r.views.Views {
			r.literals[number].take(p.literals, v.Text)
		}
	}
}

// split notes that a view is one of its own from now on.
func (r *reading) split(from, to int) {
	for _, f := range r.detectors {
		if f.readers[from] != nil {
			f.readers[to] = f.readers[from].Clone()
		}
	}
	r.literals[to] = r.literals[from].clone()
}

// followed is a detector in a reading.
type followed struct {
	readers [maxViews]detect.Reader // by the number of a view
	hits    []hit                   // that are settled
	read    int                     // bytes of the reading that it has read
	settled int                     // of these
	wait    int                     // by how many bytes the text should grow before it reads again
	found   []detect.Finding        // room for what it finds next
}

// follow has a detector read what is new.
func (r *reading) follow(p *Policy, number int) *followed {
	f := r.detectors[number]
	if f == nil {
		f = &followed{}
		r.detectors[number] = f
	}
	if f.read == len(r.text) {
		return f
	}
	f.read = len(r.text)
	f.settled = len(r.text)
	f.wait = 0
	views := 0
	for n, v := range r.views.Views {
		views++
		if f.readers[n] == nil {
			f.readers[n] = p.detectors[number].Reader()
		}
		reader := f.readers[n]
		if l, ok := reader.(*linesReader); ok {
			l.literals = r.literals[n].from(number, l.from)
		}
		var open int
		f.found, open = reader.Read(f.found[:0], v.Text)
		for _, found := range f.found {
			start, end := found.Start, found.End
			found.Start, found.End = v.Original(start, end)
			if found.Start < found.End {
				h := hit{Finding: found, view: v.Name, number: n, detector: number}
				f.hits = append(f.hits, h.reading(r.text, v.Text, start, end))
			}
		}
		settled, _ := v.Original(open, open)
		f.settled = min(f.settled, settled)
		f.wait = max(f.wait, reader.Wait())
	}
	if views > 1 {
		f.hits = uncovered(nil, f.hits)
	}
	return f
}

// appendHits appends the hits in the text that were not shown, where they are in the text without
// its head and the spaces at gaps. It forgets the others.
func (f *followed) appendHits(hits []hit, shown, head int, gaps []int) []hit {
	left := f.hits[:0]
	for _, h := range f.hits {
		now := h
		now.Start = withoutSpaces(h.Start-head, gaps)
		now.End = withoutSpaces(h.End-head, gaps)
		if now.End > now.Start && now.End > shown {
			left = append(left, h)
			hits = append(hits, now)
		}
	}
	f.hits = left
	return hits
}
