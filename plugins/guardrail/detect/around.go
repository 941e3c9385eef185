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
	regions := regionsAround(look, text, parts, apart(long))
	around := 0
	for _, p := range regions {
		around += p.changed.End - p.start + 2*look
	}
	if around > len(text) {
		return FindWithLong(d, found, text)
	}
	for len(regions) > 0 {
		p := regions[0]
		regions = regions[1:]
		for more := look / 4; ; more = max(2*look, 2*more) {
			end := len(text)
			if len(regions) > 0 {
				end = regions[0].start
			}
			near, long, settled := p.find(d, look, text, end, more)
			if settled {
				found = append(found, near...)
				longer = append(longer, long...)
				break
			}

			// Something long goes on behind the region. The region grows by it, and by the next
			// regions that are near.
			for _, l := range long {
				p.changed.End = max(p.changed.End, l.End)
			}
			for len(regions) > 0 && regions[0].start <= p.changed.End+look+2*more {
				p.changed.End = max(p.changed.End, regions[0].changed.End)
				regions = regions[1:]
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

// lookBack returns how many bytes before a finding the detector may have to read to find it; 0 if that is
// not known.
func lookBack(d Detector) int {
	switch d.(type) {
	case *pii:
		return piiLookBack
	case scanner:
		return LookBack
	}
	return 0
}

// A region is a part of a text that was changed. The search for findings that the change can affect begins
// before it, at start.
type region struct {
	start   int
	changed Part
}

// regionsAround returns the regions of a text in which parts of it were changed. Parts that are
// near each other are one region. If a part is inside something long, all of that is in its region.
func regionsAround(look int, text string, parts, long []Part) (regions []region) {
	before := 0 // where the last place ends
	for len(parts) > 0 {
		p := region{changed: parts[0]}
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
		if n := len(regions); n > 0 && p.start-before < 3*look {
			regions[n-1].changed.End = p.changed.End
		} else {
			regions = append(regions, p)
		}
		before = p.changed.End
	}
	return regions
}

// find returns the findings of a region that begin before the byte end. They are settled if text that is more
// than `more` bytes behind the region cannot change them, and if nothing long begins in the region and ends
// behind it.
func (p *region) find(d Detector, look int, text string, end, more int,
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

// findSettled returns the findings of a text that stay the same whatever text follows, the place up to which
// they are complete, and the long parts of the text.
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
