package detect

import (
	"cmp"
	"slices"
	"sort"
)

// A Part is where something stands in a text.
type Part struct{ Start, End int }

// FindAround appends the findings of Find that some parts of a text may decide about: the text is
// another one in which only these parts were changed, such as escapes that were decoded, and all
// that is found in the other one is known. It may append findings that no part decides about, too.
// Long is that of FindWithLong in the other text, by where it stands in this one; it returns what is
// long around these parts.
func FindAround(d Detector, found []Finding, text string, parts, long []Part,
) (all []Finding, longer []Part) {
	look := lookBack(d)
	if look == 0 {
		return FindWithLong(d, found, text)
	}
	places := placesAround(look, text, parts, apart(long))
	around := 0
	for _, p := range places {
		around += p.changed.End - p.start + 2*look
	}
	if around > len(text) {
		return FindWithLong(d, found, text)
	}
	for len(places) > 0 {
		p := places[0]
		places = places[1:]
		for more := look / 4; ; more = max(2*look, 2*more) {
			end := len(text)
			if len(places) > 0 {
				end = places[0].start
			}
			near, long, settled := p.find(d, look, text, end, more)
			if settled {
				found = append(found, near...)
				longer = append(longer, long...)
				break
			}

			// Something goes on. All of it counts as changed, and the next places with it that are near.
			for _, l := range long {
				p.changed.End = max(p.changed.End, l.End)
			}
			for len(places) > 0 && places[0].start <= p.changed.End+look+2*more {
				p.changed.End = max(p.changed.End, places[0].changed.End)
				places = places[1:]
			}
		}
	}
	return found, longer
}

// FindWithLong appends the findings of Find. Long are the parts of the text that decide about what stands
// in them for longer than LookBack, such as a long list of passwords.
func FindWithLong(d Detector, found []Finding, text string) (all []Finding, long []Part) {
	if d, ok := d.(*secrets); ok {
		s := d.begin(text)
		defer s.end()
		s.all()
		return settleAll(found, s.found), slices.Clone(s.long)
	}
	return d.Find(found, text), nil
}

// apart returns parts in order, without overlaps. It changes their order.
func apart(parts []Part) (all []Part) {
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.Start, b.Start) })
	for _, p := range parts {
		last := len(all) - 1
		if last >= 0 && p.Start <= all[last].End {
			all[last].End = max(all[last].End, p.End)
		} else {
			all = append(all, p)
		}
	}
	return all
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

// A place is where a text was changed, and where the search begins that finds what this decides about.
type place struct {
	start   int
	changed Part
}

// placesAround returns the places in a text at which parts of it were changed. Parts that are near to each
// other make one place, and so do those in something long, with all of that.
func placesAround(look int, text string, parts, long []Part) (places []place) {
	before := 0 // where the last place ends
	for len(parts) > 0 {
		p := place{changed: parts[0]}
		for grows := true; grows; {
			for len(parts) > 0 && parts[0].Start-p.changed.End < 6*look {
				p.changed.End = max(p.changed.End, parts[0].End)
				parts = parts[1:]
			}

			// Begin at a blank, so early that what is before it decides about nothing here.
			p.start = max(0, p.changed.Start-2*look)
			for p.start > before && text[p.start-1] > ' ' {
				p.start--
			}
			grows = false
			first := sort.Search(len(long), func(i int) bool { return long[i].End > p.start })
			for _, l := range long[first:] {
				if l.Start > p.changed.End+2*look {
					break
				}
				grows = grows || l.Start < p.changed.Start || l.End > p.changed.End
				p.changed.Start = min(p.changed.Start, l.Start)
				p.changed.End = max(p.changed.End, l.End)
			}
		}
		if n := len(places); n > 0 && p.start-before < 3*look {
			places[n-1].changed.End = p.changed.End
		} else {
			places = append(places, p)
		}
		before = p.changed.End
	}
	return places
}

// find returns what is found around a place, before the byte end. It is not settled if what follows the
// place by so many bytes more than usual could change it, or if something long goes on from there.
func (p *place) find(d Detector, look int, text string, end, more int,
) (found []Finding, long []Part, settled bool) {
	from := 0
	if p.start > 0 {
		from = p.start + look
	}

	// Search up to where the part decides about nothing any more. In a run without a blank each link, or
	// number, begins where the one before it ends, so that the part decides about all of the run.
	to := p.changed.End
	for to < end && text[to] > ' ' {
		to++
	}
	to += look
	if to+more >= end && end == len(text) {
		to = end
		found, long = FindWithLong(d, nil, text[p.start:])
		settled = true
	} else {
		var open int
		found, open, long = findSettled(d, text[p.start:min(end, to+more)])
		settled = p.start+open >= to &&
			!slices.ContainsFunc(long, func(l Part) bool { return p.start+l.End > p.changed.End })
	}
	for i := range long {
		long[i].Start += p.start
		long[i].End += p.start
	}
	for i := range found {
		found[i].Start += p.start
		found[i].End += p.start
	}
	first := sort.Search(len(found), func(i int) bool {
		return found[i].Start >= from || found[i].End > p.changed.Start
	})
	last := sort.Search(len(found), func(i int) bool { return found[i].Start >= to })
	return found[first:max(first, last)], long, settled
}

// findSettled returns what is found in the beginning of a text and does not change however the text goes
// on, how much of the text that is about, and what is long in it.
func findSettled(d Detector, text string) (found []Finding, open int, long []Part) {
	s, ok := d.(scanner)
	if !ok {
		found, open = d.Reader().Read(nil, text)
		return found, open, nil
	}
	all, open, long := s.scan(text)
	open = uncut(all, open)
	n := sort.Search(len(all), func(i int) bool { return all[i].Start >= open })
	return settleAll(nil, all[:n]), open, long
}
