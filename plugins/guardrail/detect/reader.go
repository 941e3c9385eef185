package detect

import (
	"sort"
	"unicode/utf8"
)

// A Reader is where a detector is in a text that grows, such as an answer that comes in pieces. It
// reads what is new, with as much of the text before it as may decide about it.
type Reader interface {
	// Read reads a text. The text of the last call is a beginning of it. Read appends to found
	// what is settled since then, and returns the extended slice: the findings that begin before
	// open. open is what the detector's Open returns of the text. The findings of all calls are
	// those of Find that begin before open.
	Read(found []Finding, text string) (extended []Finding, open int)
	// From returns the byte of the text from which the next call reads.
	From() int
	// Clone returns another reader that is where this one is.
	Clone() Reader
}

// NewReader returns a reader of a text that grows, from its beginning on.
func NewReader(d Detector) Reader {
	switch d := d.(type) {
	case *pii:
		return &piiReader{pii: d}
	case scanner:
		return &tailReader{scanner: d}
	}
	return &wholeReader{Detector: d}
}

// LookBack is how many bytes before a finding may decide about it, with the detectors that [Secrets],
// [Injection] and [Words] return. Where more than that decides, such as the beginning of a long list of
// passwords, the reach of a scan says so.
const LookBack = 896

// A scanner is a detector with LookBack.
type scanner interface {
	// scan returns what is found, ordered by Start; findings may overlap. It also returns from
	// where on the text is open, and up to where something goes on that decides about what follows
	// it: 0 if nothing does.
	scan(text string) (all []Finding, open, reach int)
}

// A tailReader reads the end of a text: what is new, and at least LookBack before it.
type tailReader struct {
	scanner
	from int // what is before it is not read again
	open int // what Read returned last
}

func (r *tailReader) From() int { return r.from }

func (r *tailReader) Clone() Reader {
	clone := *r
	return &clone
}

func (r *tailReader) Read(found []Finding, text string) ([]Finding, int) {
	all, open, reach := r.scan(text[r.from:])
	open = max(uncut(all, open)+r.from, r.open)

	// What is settled now and was not before. No finding reaches over either place.
	first := sort.Search(len(all), func(i int) bool { return all[i].Start+r.from >= r.open })
	for first > 0 && all[first-1].End+r.from > r.open { // Open should have been before it; find it late rather than never
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
	at := open - LookBack
	for at > r.from && !utf8.RuneStart(text[at]) {
		at--
	}
	if at-r.from > reach {
		r.from = at
	}
	return found, open
}

// A wholeReader reads all of a text each time.
type wholeReader struct {
	Detector
	open int // what Read returned last
}

func (r *wholeReader) From() int { return 0 }

func (r *wholeReader) Clone() Reader {
	clone := *r
	return &clone
}

func (r *wholeReader) Read(found []Finding, text string) ([]Finding, int) {
	known := len(found)
	found = r.Find(found, text)
	open := max(r.Open(text), r.open)
	settled := found[:known]
	for _, f := range found[known:] {
		if f.End > r.open && f.Start < open {
			settled = append(settled, f)
		}
	}
	r.open = open
	return settled, open
}
