package detect

import (
	"slices"
	"sort"
	"unicode/utf8"
)

// LookBack is how many bytes before a finding may decide about it, with the detectors that [Secrets],
// [Injection] and [Words] return. Where more than that decides, such as the beginning of a long list of
// passwords, a scan says so.
const LookBack = 896

// A scanner is a detector with LookBack.
type scanner interface {
	// scan returns what is found, ordered by Start; findings may overlap. It also returns from
	// where on the text is open, and what decides about what stands in it for longer than LookBack.
	scan(text string) (all []Finding, open int, long []Part)
}

// A tailReader reads the end of a text: what is new, and at least LookBack before it.
type tailReader struct {
	scanner
	from int // what is before it is not read again
	read int // how long the text was
	open int // what Read returned last
}

// Wait implements Reader. To scan bytes takes less than a thirtieth of the time that it takes to
// judge as many new ones, so new bytes may wait until there is one for 32 that are scanned again.
func (r *tailReader) Wait() int { return (r.read - r.from) / 32 }

func (r *tailReader) Clone() Reader {
	clone := *r
	return &clone
}

func (r *tailReader) Read(found []Finding, text string) ([]Finding, int) {
	r.read = len(text)
	all, open, long := r.scan(text[r.from:])
	open = max(uncut(all, open)+r.from, r.open)

	// What is settled now and was not before. No finding reaches over either place.
	first := sort.Search(len(all), func(i int) bool { return all[i].Start+r.from >= r.open })
	// r.open should have been before a finding that ends behind it: better late than never.
	for first > 0 && all[first-1].End+r.from > r.open {
		first--
	}
	last := sort.Search(len(all), func(i int) bool { return all[i].Start+r.from >= open })
	known := len(found)
	found = settleAll(found, all[first:max(first, last)])
	for i := range found[known:] {
		found[known+i].Start += r.from
		found[known+i].End += r.from
	}
	r.open = open

	// Read from a later byte next time. Not at each call: a text that is cut anew must be read
	// once more from its new beginning.
	const step = LookBack / 4
	if open-r.from < LookBack+step {
		return found, open
	}
	pos := open - LookBack
	for pos > r.from && !utf8.RuneStart(text[pos]) {
		pos--
	}
	if !slices.ContainsFunc(long, func(l Part) bool { return pos-r.from <= l.End }) {
		r.from = pos
	}
	return found, open
}
