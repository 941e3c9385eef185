package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// Progress is what the judging of a text that grows has come to, so that the next time only what is
// new is judged, with as much of the text before it as detectors look back at. The zero value is of
// a text that was not judged yet.
type Progress struct {
	readings []*reading
	shown    int  // nothing before this byte can be found again
	read     int  // bytes of the text at the last call of Grow
	again    int  // bytes that the next one reads once more
	failed   bool // a detector panicked: nothing more of the text is settled
}

// Grow adds to the verdict what the rules' detectors find in a text that grows, as far as it is
// settled and was not shown. It returns how much of the text, in bytes, no continuation of it
// changes. The text of the last call is a beginning of this one.
func (a *Active) Grow(
	v *Verdict, p *Progress, before Before, text string, gaps []int,
) (settled int) {
	if p.failed || a.TooLong(v, text) {
		return 0
	}
	defer func() {
		if p.failed {
			settled = 0
		}
	}()
	defer a.recovering(v, text)
	p.failed = true
	if p.read != len(text) {
		p.read = len(text)
		p.again = 0
	}
	settled = len(text)
	for _, window := range windows {
		used := a.uses(nil, func(r *rule) bool { return r.window == window && !r.whole() })
		if !slices.Contains(used, true) {
			continue
		}
		cuts := a.uses(nil, func(r *rule) bool { return r.window == window && r.cuts() })
		var hits []hit
		for _, head := range before.heads(window) {
			for _, between := range [][]int{nil, gaps} {
				r := p.reading(head, between != nil)
				r.take(a.policy, text, between)
				known := len(hits)
				for number := range used {
					if !used[number] {
						continue
					}
					f := r.follow(a.policy, number)
					p.again = max(p.again, f.again)
					if cuts[number] {
						settled = min(settled, withoutSpaces(f.settled-len(head), between))
					}
					hits = f.appendHits(hits, p.shown, len(head), between)
				}
				if known > 0 {
					hits = append(hits[:known], uncovered(hits[:known], hits[known:])...)
				}
				if gaps == nil {
					break
				}
			}
		}
		for _, h := range hits {
			a.apply(v, h, window, text)
		}
	}
	p.failed = false
	return settled
}

// Advance notes that a text has been shown up to a byte: its findings up to there are not needed
// again.
func (p *Progress) Advance(shown int) {
	p.shown = shown
	p.readings = slices.DeleteFunc(p.readings, func(r *reading) bool { return !r.used })
	for _, r := range p.readings {
		r.used = false
	}
}

// Again returns how many bytes the next call of Grow reads once more.
func (p *Progress) Again() (bytes int) { return p.again }

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
	literals  [maxViews]literalsFound
	detectors map[int]*followed
}

// maxViews is how many views a text can have.
const maxViews = 6

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
	again   int                     // bytes that it reads again
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
	f.again = 0
	views := 0
	for n, v := range r.views.Views {
		views++
		if f.readers[n] == nil {
			f.readers[n] = newReader(p.detectors[number])
		}
		reader := f.readers[n]
		if l, ok := reader.(*linesReader); ok {
			l.literals = r.literals[n].at[number]
			r.literals[n].forget(number, l.from)
		}
		var open int
		f.found, open = reader.Read(f.found[:0], v.Text)
		for _, found := range f.found {
			found.Start, found.End = v.Original(found.Start, found.End)
			if found.Start < found.End {
				h := hit{Finding: found, view: v.Name, number: n, detector: number}
				f.hits = append(f.hits, h.afterEscape(r.text))
			}
		}
		settled, _ := v.Original(open, open)
		f.settled = min(f.settled, settled)
		f.again = max(f.again, len(v.Text)-reader.From())
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

// newReader returns a reader for a detector in a text that grows.
func newReader(d detect.Detector) detect.Reader {
	switch d := d.(type) {
	case lines:
		return &linesReader{lines: d}
	case disallowed:
		return &linksReader{disallowed: d}
	}
	return detect.NewReader(d)
}

// literalsFound are the literals of regular expressions in a view that grows.
type literalsFound struct {
	state uint32
	read  int
	at    map[int][]place // by the number of a detector
}

// take takes what is new of the view.
func (f *literalsFound) take(l *literals, text string) {
	for ; f.read < len(text); f.read++ {
		f.state = l.words.Step(f.state, text[f.read])
		if !l.words.Ends(f.state) {
			continue
		}
		if f.at == nil {
			f.at = map[int][]place{}
		}
		for _, word := range l.words.Found(f.state) {
			at := place{start: f.read + 1 - l.words.Size(word), end: f.read + 1}
			for _, owner := range l.owners[word] {
				f.at[owner] = append(f.at[owner], at)
			}
		}
	}
}

// forget forgets the places before a byte.
func (f *literalsFound) forget(detector, before int) {
	all, ok := f.at[detector]
	if ok {
		f.at[detector] = slices.DeleteFunc(all, func(at place) bool { return at.start < before })
	}
}

func (f *literalsFound) clone() literalsFound {
	c := *f
	c.at = maps.Clone(f.at)
	for detector, at := range c.at {
		c.at[detector] = slices.Clone(at)
	}
	return c
}
