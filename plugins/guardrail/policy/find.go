package policy

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
)

// windows are the values of a rule's window.
var windows = []string{"part", "turn", "session"}

// nothing is the context of a text that is judged alone: there is no text before it.
var nothing = []string{""}

// heads returns the texts that a detector reads before the text at hand, for one window of a rule.
func heads(before func(window string) []string, window string) []string {
	if before == nil {
		return nothing
	}
	return before(window)
}

// Find adds to the verdict what the rules' detectors find in a text that is whole. Gaps are bytes of
// the text at which something else stands in it, such as a picture: the text is read as if nothing
// did, and with a space there. Before returns what stands before the text in a rule's window: "part",
// "turn" or "session". There may be several readings of it; each is tried. If it is nil, nothing does.
func (a *Active) Find(v *Verdict, before func(window string) []string, text string, gaps []int) {
	if text == "" || len(a.rules) == 0 || a.TooLong(v, text) {
		return
	}
	defer a.recovering(v, text)
	for _, window := range windows {
		if !slices.ContainsFunc(a.rules, func(r *rule) bool { return r.window == window && !r.whole() }) {
			continue
		}
		s := searches.Get().(*search)
		s.hits = s.hits[:0]
		for _, head := range heads(before, window) {
			a.findAfter(v, s, window, head, text, nil)
			if gaps != nil {
				a.findAfter(v, s, window, head, text, gaps)
			}
		}
		s.views.Forget()
		if cap(s.changes[0]) > keptChanges {
			clear(s.changes[:])
		}
		searches.Put(s)
	}
}

// search is the memory of one search, which is used again.
type search struct {
	hits  []hit            // in the text, by all detectors
	found []detect.Finding // by one detector in one view
	views view.Views

	used     []bool // by a detector's number: whether a rule uses it
	changes  [maxViews][]detect.Part
	long     []detect.Part           // what is long in the text, or in a view of it, for one detector
	literals [maxViews]literalsFound // in the text, and then in its views
}

// maxViews is how many views a text can have, with the raw one.
const maxViews = 6

// keptChanges is for how many changes of a view room is kept.
const keptChanges = 4 << 10

var searches = sync.Pool{New: func() any { return new(search) }}

// findAfter searches the text with a head before it, and with spaces at its gaps. It adds to the
// verdict what the search has not found before.
func (a *Active) findAfter(v *Verdict, s *search, window, head, text string, gaps []int) {
	known := len(s.hits)
	a.search(s, window, head+withSpaces(text, gaps))

	// Places count in the text, and what ends in the head is not found in the text.
	hits := s.hits[:known]
	for _, h := range s.hits[known:] {
		h.Start = withoutSpaces(h.Start-len(head), gaps)
		h.End = withoutSpaces(h.End-len(head), gaps)
		if h.End > h.Start {
			hits = append(hits, h)
		}
	}
	if known > 0 {
		hits = append(s.hits[:known], uncovered(s.hits[:known], hits[known:])...)
	}
	s.hits = hits
	a.applyAll(v, hits[known:], window, text)
}

// hit is what a detector found in a view of a text.
type hit struct {
	detect.Finding
	view     string
	number   int // of the view
	detector int
	value    string // as it reads in the view
}

// search adds what the detectors of the rules with a window find in a text and its views.
func (a *Active) search(s *search, window, text string) {
	views := s.views.Of(text)
	s.used = a.uses(s.used, func(r *rule) bool { return r.window == window })
	s.literals[0].restart()
	s.literals[0].take(a.policy.literals, text)
	for i := range views {
		s.literals[i+1].restart()
		s.literals[i+1].take(a.policy.literals, views[i].Text)
	}
	for i := range s.changes {
		s.changes[i] = s.changes[i][:0]
	}
	for i := range views {
		for start, end := range views[i].Changes {
			s.changes[i] = append(s.changes[i], detect.Part{Start: start, End: end})
		}
	}
	for number, detector := range a.policy.detectors {
		if !s.used[number] {
			continue
		}
		raw := len(s.hits)
		s.found, s.long = s.find(s.found[:0], number, detector, text)
		for _, f := range s.found {
			h := hit{Finding: f, view: view.RawView, detector: number}
			s.hits = append(s.hits, h.reading(text, text, f.Start, f.End))
		}
		for i, shown := range views {
			s.found = s.findInView(s.found[:0], number, i, detector, &shown)
			for _, f := range s.found {
				start, end := f.Start, f.End
				f.Start, f.End = shown.Original(start, end)
				if f.Start < f.End {
					h := hit{Finding: f, view: shown.Name, number: i + 1, detector: number}
					s.hits = append(s.hits, h.reading(text, shown.Text, start, end))
				}
			}
		}
		if len(views) > 0 {
			s.hits = append(s.hits[:raw], uncovered(nil, s.hits[raw:])...)
		}
	}
}

// find appends what a detector finds in the text. It looks for a regular expression only where one
// of its literals is. Long is that of detect.FindWithLong.
func (s *search) find(found []detect.Finding, number int, d detect.Detector, text string,
) (all []detect.Finding, long []detect.Part) {
	if l, ok := d.(lines); ok && l.filtered {
		return l.findAt(found, text, s.literals[0].from(number, 0)), nil
	}
	if len(s.changes[0]) == 0 {
		return d.Find(found, text), nil
	}
	return detect.FindWithLong(d, found, text)
}

// findInView is find in a view. What is found far from what is changed there was found before.
func (s *search) findInView(found []detect.Finding, number, i int, d detect.Detector, v *view.View,
) []detect.Finding {
	if l, ok := d.(lines); ok && l.filtered {
		return l.findAt(found, v.Text, s.literals[i+1].from(number, 0))
	}
	var long []detect.Part
	for _, part := range s.long {
		long = append(long, detect.Part{Start: v.At(part.Start), End: v.At(part.End)})
	}
	found, long = detect.FindAround(d, found, v.Text, s.changes[i], long)
	for _, part := range long {
		start, end := v.Original(part.Start, part.End)
		s.long = append(s.long, detect.Part{Start: start, End: end})
	}
	return found
}

// uses reports of each detector, by its number, whether one of the rules that count uses it. It
// returns used, grown as needed.
func (a *Active) uses(used []bool, counts func(*rule) bool) []bool {
	used = slices.Grow(used[:0], len(a.policy.detectors))[:len(a.policy.detectors)]
	clear(used)
	for _, r := range a.rules {
		if !counts(r) {
			continue
		}
		for _, u := range r.uses {
			used[u.detector] = true
		}
	}
	return used
}

// applyAll adds to the verdict what the rules with a window make of hits.
func (a *Active) applyAll(v *Verdict, hits []hit, window, text string) {
	for i, h := range hits {
		a.apply(v, h, window, text)
		if len(v.Findings) == 1 { // make room for the others at once
			v.Findings = slices.Grow(v.Findings, len(hits)-i-1)
		}
	}
}

// apply adds to the verdict what the rules with a window make of a hit.
func (a *Active) apply(v *Verdict, h hit, window, text string) {
	for _, r := range a.rules {
		wanted := slices.ContainsFunc(r.uses, func(u use) bool {
			return u.detector == h.detector && (u.types == nil || u.types[h.Type])
		})
		if r.window != window || !wanted {
			continue
		}
		action := r.actionOn(h.Type)
		if action == Allow || h.Score < r.score || !a.holds(v, r, text) {
			continue
		}
		ofRule := r.allow.of(&h)
		ofPolicy := a.policy.allow.of(&h)
		exception := cmp.Or(ofRule, ofPolicy)
		a.policy.coverage.acted(r, h.Type, ofRule, ofPolicy)
		if exception != "" {
			action = Allow
		}
		f := Finding{
			Rule:    r.id,
			Type:    h.Type,
			By:      h.Rule,
			Start:   h.Start,
			End:     h.End,
			Score:   h.Score,
			View:    h.view,
			message: r.message,
			ask:     r.ask,
			with:    r.with,

			Exception: exception,
		}
		v.add(a.finding(a.from(f, r), action, r.shadow))
	}
}

// reading returns the hit in a text after the escape with which it begins, and with what it says in a view: the
// bytes from start to end of what that shows.
func (h hit) reading(text, shown string, start, end int) hit {
	was := h.Start
	h = h.afterEscape(text)
	if h.view == view.RawView {
		start += h.Start - was
	}
	h.value = shown[start:end]
	return h
}

// afterEscape returns the hit without the escape with which it begins, as the n of \nann@b.example:
// without that, the rest of the escape would be none, or another one.
func (h hit) afterEscape(text string) hit {
	if h.Start == 0 || text[h.Start-1] != '\\' {
		return h
	}
	size := 0
	switch text[h.Start] {
	case 'n', 'r', 't', 'b', 'f':
		size = 1
	case 'u':
		if h.Start+5 < h.End {
			_, err := strconv.ParseUint(text[h.Start+1:h.Start+5], 16, 16)
			if err == nil {
				size = 5
			}
		}
	}
	if h.Start+size < h.End {
		h.Start += size
	}
	return h
}

// uncovered returns those of the hits that are no part of one that is known, nor of another one of
// them, of the same type and by the same detector. It sorts the hits.
func uncovered(known, hits []hit) []hit {
	if len(hits) == 0 || len(hits) == 1 && len(known) == 0 {
		return hits
	}
	byStart := func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End),
			cmp.Compare(a.number, b.number))
	}
	known = slices.SortedStableFunc(slices.Values(known), byStart)
	if !slices.IsSortedFunc(hits, byStart) {
		slices.SortStableFunc(hits, byStart)
	}

	// Where the hits so far end, of those that begin no later, by type and detector. There are few.
	type reach struct {
		detector int
		kind     string
		end      int
	}
	var few [8]reach
	reached := few[:0]
	of := func(h *hit) *int {
		for i := range reached {
			r := &reached[i]
			if r.detector == h.detector && r.kind == h.Type {
				return &r.end
			}
		}
		reached = append(reached, reach{detector: h.detector, kind: h.Type})
		return &reached[len(reached)-1].end
	}
	left := hits[:0]
	for _, h := range hits {
		for len(known) > 0 && known[0].Start <= h.Start {
			end := of(&known[0])
			*end = max(*end, known[0].End)
			known = known[1:]
		}
		end := of(&h)
		if *end < h.End {
			*end = h.End
			left = append(left, h)
		}
	}
	return left
}

// withSpaces returns a text with a space at each of its gaps.
func withSpaces(text string, gaps []int) string {
	if len(gaps) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, gap := range gaps {
		b.WriteString(text[at:gap])
		b.WriteByte(' ')
		at = gap
	}
	b.WriteString(text[at:])
	return b.String()
}

// withoutSpaces returns where a byte of a text with spaces at its gaps is in the text, 0 if it is
// before it.
func withoutSpaces(place int, gaps []int) int {
	spaces := sort.Search(len(gaps), func(i int) bool { return gaps[i]+i >= place })
	return max(0, place-spaces)
}
