package guardrail

import (
	"slices"
	"strconv"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// before says what stands before a text in a rule's window: each of these, for nobody knows how two texts go together.
type before func(window string) []string

func alone(string) []string { return nothing }

var nothing = []string{""}

// text adds to the verdict what detectors find in a text. At its gaps something else stands in it: it is read as if
// nothing did, and with a space there.
func (j *judging) text(v *Verdict, before before, text string, gaps []int) {
	if text == "" || len(j.rules) == 0 || j.tooLong(v, text) {
		return
	}
	defer j.recovering(v, text)
	for _, window := range []string{"part", "turn", "session"} {
		if !slices.ContainsFunc(j.rules, func(r *rule) bool { return r.window == window && !r.whole() }) {
			continue
		}
		seen := seens.Get().(*seen)
		seen.hits = seen.hits[:0]
		for _, head := range before(window) {
			j.read(v, seen, window, head, text, nil)
			if gaps != nil {
				j.read(v, seen, window, head, text, gaps)
			}
		}
		seen.views.Forget()
		seens.Put(seen)
	}
}

// read adds to the verdict what is found in a text with spaces at its gaps, and a head before it, but for what has been seen.
func (j *judging) read(v *Verdict, seen *seen, window, head, text string, gaps []int) {
	n := len(seen.hits)
	j.find(seen, window, head+spaced(text, gaps))
	now := seen.hits[:n]
	for _, h := range seen.hits[n:] {
		if h.Start, h.End = closed(h.Start-len(head), gaps), closed(h.End-len(head), gaps); h.End > h.Start {
			now = append(now, h)
		}
	}
	if n > 0 {
		now = append(seen.hits[:n], uncovered(seen.hits[:n], now[n:])...)
	}
	for seen.hits = now; n < len(now); n++ {
		j.apply(v, now[n], window, text)
	}
}

// hit is what a detector found in a view of a text. One that is before the text ends at 0 or less.
type hit struct {
	detect.Finding
	view     string
	detector int
}

// from is the hit without the escape that it begins in, as n in \nann@b.example: what is left of one would be none, or
// another.
func (h hit) from(text string) hit {
	if h.Start == 0 || text[h.Start-1] != '\\' {
		return h
	}
	n := 0
	switch text[h.Start] {
	case 'n', 'r', 't', 'b', 'f':
		n = 1
	case 'u':
		if h.Start+5 < h.End {
			if _, err := strconv.ParseUint(text[h.Start+1:h.Start+5], 16, 16); err == nil {
				n = 5
			}
		}
	}
	if h.Start+n < h.End {
		h.Start += n
	}
	return h
}

// seen is what was found in a text; found is what one detector did in one of its views.
type seen struct {
	hits  []hit
	found []detect.Finding
	views view.Views
}

var seens = sync.Pool{New: func() any { return new(seen) }}

// find adds what the detectors of the rules with a window find in a text and its views.
func (j *judging) find(s *seen, window, text string) {
	views := s.views.Of(text)
	for d := range j.detectors {
		if !j.uses(window, d) {
			continue
		}
		raw := len(s.hits)
		s.found = j.detectors[d].Find(s.found[:0], text)
		for _, f := range s.found {
			s.hits = append(s.hits, hit{f, view.RawView, d}.from(text))
		}
		for _, shown := range views {
			s.found = j.detectors[d].Find(s.found[:0], shown.Text)
			for _, f := range s.found {
				if f.Start, f.End = shown.Original(f.Start, f.End); f.Start < f.End {
					s.hits = append(s.hits, hit{f, shown.Name, d}.from(text))
				}
			}
		}
		if len(views) > 0 {
			s.hits = append(s.hits[:raw], uncovered(nil, s.hits[raw:])...)
		}
	}
}

func (j *judging) uses(window string, detector int) bool {
	return slices.ContainsFunc(j.rules, func(r *rule) bool {
		return r.window == window && r.asks(detector)
	})
}

// apply adds to the verdict what the rules with a window make of a hit.
func (j *judging) apply(v *Verdict, h hit, window, text string) {
	for _, r := range j.rules {
		if r.window != window || !slices.ContainsFunc(r.uses, func(u use) bool { return u.detector == h.detector && (u.types == nil || u.types[h.Type]) }) {
			continue
		}
		if a := r.acts(h.Type); a != Allow && j.holds(v, r, text) {
			v.add(j.finding(Finding{Rule: r.id, Type: h.Type, By: h.Rule, Start: h.Start, End: h.End, Score: h.Score, View: h.view, message: r.message, with: r.with}, a, r.shadow))
		}
	}
}
