package view

import (
	"slices"
	"strings"
)

// A Growth has the views of a text that grows, as far as they are settled: text that follows
// changes nothing of them, and they grow, too. Only what is new is looked at. The zero value is of
// an empty text.
//
// Not settled is what may be the beginning of an encoded run: mostly the last letter or two of a
// word, and at most about 32 characters of a run, since longer runs are decoded in parts of that
// size; three times as many if the run is encoded twice.
type Growth struct {
	steps []*step
	text  []byte // room for what is new of a view
}

// A step makes a view of the one before it.
type step struct {
	View    // as far as it is settled
	before  int
	done    int  // how much of the text before it is in it
	differs bool // it is not a beginning of the text before it
	made    strings.Builder
	scanner scanner // of a step that decodes
}

// The numbers of steps.
const (
	rawStep = iota
	foldStep
	decodeStep
	decodeTwiceStep
	hiddenStep // from here on only if the text hides something
	hiddenDecodeStep

	maxSteps
)

// Grow takes a longer text: that of the last call, and what has come since. It calls split, with the
// numbers of two views, when the view to begins to differ from the view from. Up to where from was known
// before the call, the two are the same.
func (g *Growth) Grow(text string, split func(from, to int)) {
	if g.steps == nil {
		for number, name := range []string{RawView, NormalisedView, DecodedView, DecodedTwiceView} {
			s := &step{before: number - 1}
			s.Name = name
			if number > rawStep {
				s.parent = &g.steps[number-1].View
			}
			g.steps = append(g.steps, s)
		}
	}
	raw := g.steps[rawStep]
	raw.Text = text
	raw.size = len(text)
	hides := g.fold(foldStep, text, split)
	if hides {
		g.hide(split)
		g.fold(foldStep, text, split)
	}
	g.decode(decodeStep, split)
	g.decode(decodeTwiceStep, split)
	if len(g.steps) > hiddenStep {
		g.fold(hiddenStep, text, split)
		g.decode(hiddenDecodeStep, split)
	}
}

// A Beginning is as much of a view as is settled. Text is a beginning of the view's text, or all.
type Beginning struct {
	*View
	Text string
}

// Views calls yield with each view that differs from the one before it, by its number.
func (g *Growth) Views(yield func(number int, b Beginning) bool) {
	var settled [maxSteps]int
	for number, s := range g.steps {
		head := g.head(number)
		if head == number {
			settled[number] = len(s.Text)
		}
		settled[head] = min(settled[head], len(s.Text))
	}
	for number, s := range g.steps {
		if g.head(number) != number {
			continue
		}
		if !yield(number, Beginning{View: &s.View, Text: s.Text[:settled[number]]}) {
			return
		}
	}
}

// head returns the number of the view that a step is a beginning of, or its own.
func (g *Growth) head(number int) int {
	for number != rawStep && !g.steps[number].differs {
		number = g.steps[number].before
	}
	return number
}

// hide makes the steps of the views that show hidden text. Before the first hidden text these views are
// the same as those that leave it out.
func (g *Growth) hide(split func(from, to int)) {
	for _, like := range []int{foldStep, decodeStep} {
		old := g.steps[like]
		s := &step{
			View:    old.View,
			done:    old.done,
			differs: old.differs,
			scanner: old.scanner,
		}
		s.Name = HiddenView
		if like == decodeStep {
			s.Name = HiddenDecoded
			s.before = hiddenStep
			s.parent = &g.steps[hiddenStep].View
		}
		s.pieces = slices.Clone(old.pieces)
		if old.differs {
			s.made.WriteString(old.Text)
			s.Text = s.made.String()
			split(like, len(g.steps))
		}
		g.steps = append(g.steps, s)
	}
}

// fold takes what is new of the text into the normalised view, or into the one that also shows what
// is hidden. It stops where the text hides something and no view shows it yet.
func (g *Growth) fold(number int, text string, split func(from, to int)) (hides bool) {
	s := g.steps[number]
	d := g.draft(s)
	isShown := len(g.steps) > hiddenStep
	last, end, hides := d.fold(s.done, number == hiddenStep, func(more, hides bool) bool {
		return more || hides && !isShown
	})
	g.take(number, &d, last, end, split)
	return hides && !isShown
}

// decode takes what is new of the view before it into a view in which that is decoded.
func (g *Growth) decode(number int, split func(from, to int)) {
	s := g.steps[number]
	d := g.draft(s)
	last, open := d.decode(&s.scanner, s.done, true)
	g.take(number, &d, last, open, split)
}

// draft returns an empty draft for the new part of a view.
func (g *Growth) draft(s *step) draft {
	return draft{source: g.steps[s.before].Text, before: len(s.Text), text: g.text[:0], pieces: s.pieces}
}

// take appends the draft of the new part to a view. It ends at end, and its last change at last, if there
// is one.
func (g *Growth) take(number int, d *draft, last, end int, split func(from, to int)) {
	s := g.steps[number]
	isChanged := last > s.done
	d.keep(last, end)
	s.done = end
	if isChanged && !s.differs {
		split(g.head(number), number)
		s.differs = true
		s.made.WriteString(s.Text)
	}
	s.pieces = d.pieces
	s.size = s.done
	if s.differs {
		s.made.Write(d.text)
		s.Text = s.made.String()
	} else {
		s.Text = d.source[:s.done]
	}
	g.text = d.text[:0]
	if cap(g.text) > keptBytes {
		g.text = nil
	}
}
