package policy

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// Progress is what the judging of a text that grows has come to, so that the next time only what is
// new is judged, with as much of the text before it as detectors look back at. The zero value is of
// a text that was not judged yet.
type Progress struct {
	from  int // nothing before this byte of the text is read again
	shown int // nothing before this byte can be found again
	opens map[reading][]int
	views view.Views
}

// A reading is a detector, by its number, in a view of a text. Opens has where it was open at
// earlier times, in bytes of the original.
type reading struct {
	detector int
	view     string
}

// Growing lets the rules judge a text that grows. Find and Settled go on from where they were.
func (a *Active) Growing(p *Progress) *Active {
	a.progress = p
	return a
}

// Advance notes that a text has been shown up to a byte: its findings up to there are not needed
// again.
func (a *Active) Advance(text string, shown int) {
	p := a.progress
	p.shown = shown
	for key, opens := range p.opens {
		past := 0 // how many are no later than that: the last of them is where to go on
		for past < len(opens) && opens[past] <= shown {
			past++
		}
		p.opens[key] = opens[max(0, past-1):]
	}

	// Read on from a later byte, if the text can be cut there.
	const step = detect.LookBack / 4
	if shown-p.from < detect.LookBack+step || a.policy.needsWhole() {
		return
	}
	rest := text[p.from:]
	least := max(1, shown-p.from-detect.LookBack-step)
	for at := shown - p.from - detect.LookBack; at >= least; at-- {
		if detect.Border(rest, at) && a.policy.mayCut(rest, at) && p.views.Restarts(rest, at) {
			p.from += at
			break
		}
	}
	p.views.Forget()
}

// needsWhole reports whether a rule's condition asks about the whole text.
func (p *Policy) needsWhole() bool {
	return slices.ContainsFunc(p.rules, func(r *rule) bool { return r.when != nil && r.when.text })
}

// mayCut reports whether all detectors find the same in text[at:] as behind at in text, but for what
// stands within their LookBack.
func (p *Policy) mayCut(text string, at int) bool {
	return !slices.ContainsFunc(p.detectors, func(d detect.Detector) bool {
		switch d.(type) {
		case lines:
			return text[at-1] != '\n'
		case disallowed: // in a tag of HTML, attributes are links
			return strings.IndexByte(text[:at], '<') >= 0
		}
		return !detect.LooksBackOnly(d)
	})
}

// From returns the byte from which on the text is read.
func (p *Progress) From() int { return p.from }

// start returns the byte from which on the text is read.
func (p *Progress) start() int {
	if p == nil {
		return 0
	}
	return p.from
}

// shownBytes returns how much of the text was shown.
func (p *Progress) shownBytes() int {
	if p == nil {
		return 0
	}
	return p.shown
}

// gaps returns those of the gaps that are in what is read, and where they are in it.
func (p *Progress) gaps(all []int) (left []int) {
	for _, gap := range all {
		if gap > p.from {
			left = append(left, gap-p.from)
		}
	}
	return left
}

// resumes returns where a detector may go on in a view, nil for the raw one, of what is read; 0 if
// it has to begin anew.
func (p *Progress) resumes(detector int, v *view.View) int {
	name := view.RawView
	if v != nil {
		name = v.Name
	}
	opens := p.opens[reading{detector, name}]
	if len(opens) == 0 || opens[0] > p.shown || opens[0] < p.from {
		return 0
	}
	at := opens[0] - p.from
	if v == nil {
		return at
	}
	at, ok := v.Place(at)
	if !ok {
		return 0
	}
	return at
}

// find appends what a detector finds in a view, from where it was.
func (p *Progress) find(found []detect.Finding, number int, d detect.Detector, v *view.View,
	text string) []detect.Finding {
	resumer, ok := d.(detect.Resumer)
	if !ok || p == nil {
		return d.Find(found, text)
	}
	return resumer.FindFrom(found, text, p.resumes(number, v))
}

// open returns what a detector's Open returns, which begins where it was, and remembers it.
func (p *Progress) open(number int, d detect.Detector, v *view.View, text string) int {
	resumer, ok := d.(detect.Resumer)
	if !ok || p == nil {
		return d.Open(text)
	}
	open := resumer.OpenFrom(text, p.resumes(number, v))

	// Nothing goes on at the beginning of a line, a word or a number alone. A place that the original does not have cannot be found again.
	if open == 0 || text[open-1] > ' ' {
		return open
	}
	original := open
	key := reading{number, view.RawView}
	if v != nil {
		key.view = v.Name
		original, _ = v.Original(open, open)
		place, ok := v.Place(original)
		if !ok || place != open {
			return open
		}
	}
	known := p.opens[key]
	if n := len(known); n == 0 || known[n-1] < p.from+original {
		if p.opens == nil {
			p.opens = map[reading][]int{}
		}
		p.opens[key] = append(known, p.from+original)
	}
	return open
}
