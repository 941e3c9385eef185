package detect

import "sort"

// A Part is where something stands in a text.
type Part struct{ Start, End int }

// FindAround appends the findings of Find that some parts of a text may decide about: the text is
// another one in which only these parts were changed, such as escapes that were decoded, and all
// that is found in the other one is known. It may append findings that no part decides about, too.
//
// Reach is that of FindWithReach in the other text. If it is not 0, or if the parts are all over the
// text, the whole text is searched.
func FindAround(d Detector, found []Finding, text string, parts []Part, reach int) []Finding {
	look := lookBack(d)
	apart := 6 * look
	together := func(parts []Part) int { // how many of the first parts stand close to each other
		n := 1
		for n < len(parts) && parts[n].Start-parts[n-1].End < apart {
			n++
		}
		return n
	}

	// How much is around the parts?
	around := 0
	for left := parts; len(left) > 0; {
		n := together(left)
		around += left[n-1].End - left[0].Start + apart
		left = left[n:]
	}
	if reach > 0 || look == 0 || around > len(text) {
		return d.Find(found, text)
	}

	known := len(found)
	for len(parts) > 0 {
		n := together(parts)
		next := len(text)
		if n < len(parts) {
			next = parts[n].Start - apart/2
		}
		near, settled := findNear(d, look, text, Part{parts[0].Start, parts[n-1].End}, next)
		if !settled {
			return d.Find(found[:known], text)
		}
		found = append(found, near...)
		parts = parts[n:]
	}
	return found
}

// FindWithReach appends the findings of Find. Reach is the place up to which something goes on that
// decides about what follows for longer than LookBack, such as a long list of passwords; 0 if nothing does.
func FindWithReach(d Detector, found []Finding, text string) (all []Finding, reach int) {
	if d, ok := d.(*secrets); ok {
		s := d.begin(text)
		defer s.end()
		s.all()
		return settleAll(found, s.found), s.reach
	}
	return d.Find(found, text), 0
}

// lookBack returns how many bytes before a finding may decide about it; 0 if that is not known.
func lookBack(d Detector) int {
	switch d.(type) {
	case *pii:
		return piiLookBack
	case scanner:
		return LookBack
	}
	return 0
}

// findNear returns what is found around a part that was changed. It is not settled if what follows up
// to the byte end could change it.
func findNear(d Detector, look int, text string, part Part, end int) (found []Finding, settled bool) {
	// Begin at a blank, so early that what is before it decides about nothing here.
	start := max(0, part.Start-2*look)
	least := max(0, start-look)
	for start > least && text[start-1] > ' ' {
		start--
	}
	if start > 0 && text[start-1] > ' ' {
		return nil, false
	}
	from := 0
	if start > 0 {
		from = start + look
	}

	// Search up to where the part decides about nothing any more. In a run without a blank each link, or
	// number, begins where the one before it ends, so that the part decides about all of the run.
	to := part.End
	for to < end && text[to] > ' ' {
		to++
	}
	to += look
	for _, more := range []int{look / 4, 2 * look} {
		if end == len(text) && to+more >= end {
			to = end
			found = d.Find(nil, text[start:])
			settled = true
			break
		}
		var open int
		found, open = findSettled(d, text[start:min(end, to+more)])
		settled = start+open >= to
		if settled {
			break
		}
	}
	for i := range found {
		found[i].Start += start
		found[i].End += start
	}
	first := sort.Search(len(found), func(i int) bool {
		return found[i].Start >= from || found[i].End > part.Start
	})
	last := sort.Search(len(found), func(i int) bool { return found[i].Start >= to })
	return found[first:max(first, last)], settled
}

// findSettled returns what is found in the beginning of a text and does not change however the text goes
// on, and how much of the text that is about: nothing if something goes on for longer than LookBack.
func findSettled(d Detector, text string) (found []Finding, open int) {
	s, ok := d.(scanner)
	if !ok {
		return d.Reader().Read(nil, text)
	}
	all, open, reach := s.scan(text)
	if reach > 0 {
		return nil, 0
	}
	open = uncut(all, open)
	n := sort.Search(len(all), func(i int) bool { return all[i].Start >= open })
	return settleAll(nil, all[:n]), open
}
