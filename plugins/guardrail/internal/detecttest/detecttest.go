// Package detecttest tests detectors. [Check] holds one to the contract of [detect.Detector] on
// any texts, and [Development] reads texts that are labelled with what is to be found in them.
//
// A new law is a case of [Offence], and a line in the comment of [Check].
package detecttest

import (
	"slices"
	"testing"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// A text of up to everySplit bytes is split at every byte. A longer one is split at every byte of
// its first and its last edge bytes, and some 200 times between.
const (
	everySplit = 2 << 10
	edge       = 256
)

// Check tests a detector against its contract on each text. It reports the first offence of a text
// and goes on with the next. The laws are:
//
//   - Findings are parts of the text, in order, none within or across another, each with a type
//     and a score in (0, 1].
//   - Find appends: what was in the slice stays, and what is found does not depend on it.
//   - A text in which nothing is found costs no allocation (this is not tested under the race
//     detector).
//   - The place from which on a text is open never decreases as the text grows, is never beyond its
//     end, and cuts no finding.
//   - What Find and a reader find before that place, in any beginning of the text, is what Find finds
//     there in all of it.
//   - A reader that reads the text in pieces says the same as one that reads it at once.
func Check(t testing.TB, d detect.Detector, texts []string) {
	t.Helper()
	for _, text := range texts {
		law, at := Offence(d, text)
		if law != "" {
			t.Errorf("%s\nin %q\nat byte %d, after %q", law, clip(text, at), at, clip(text[:at], at))
		}
	}
}

// Offence returns the first law that a detector breaks on a text, and where; "" if it keeps them
// all.
func Offence(d detect.Detector, text string) (law string, at int) {
	whole := d.Find(nil, text)
	law, at = findings(d, text, whole)
	if law != "" {
		return law, at
	}
	last := 0
	var found, inPieces []detect.Finding
	pieces := d.Reader()
	for n := 0; n <= len(text); n = next(n, len(text)) {
		begun := text[:n]
		atOnce, open := d.Reader().Read(nil, begun)
		switch {
		case open < last:
			return "the open place decreased as the text grew", n
		case open > n:
			return "the open place is beyond the end of the text", n
		}
		last = open
		settled := whole[:before(whole, open)]
		found = d.Find(found[:0], begun)
		if !slices.Equal(settled, found[:before(found, open)]) || !slices.Equal(settled, atOnce) {
			return "what was settled changed as the text went on", n
		}
		if len(settled) > 0 && settled[len(settled)-1].End > open {
			return "the open place cuts a finding", n
		}
		var openInPieces int
		inPieces, openInPieces = pieces.Read(inPieces, begun)
		if openInPieces != open || !slices.Equal(inPieces, atOnce) {
			return "in pieces the text is read otherwise than at once", n
		}
	}
	return "", 0
}

// findings returns the first law that the findings of a text break, and where.
func findings(d detect.Detector, text string, whole []detect.Finding) (law string, at int) {
	end := 0
	for _, f := range whole {
		switch {
		case f.Start < 0 || f.End > len(text) || f.Start >= f.End:
			return "a finding is no part of the text", end
		case f.Start < end:
			return "findings overlap, or are out of order", f.Start
		case f.Type == "":
			return "a finding has no type", f.Start
		case !(f.Score > 0 && f.Score <= 1):
			return "a finding's score is not above 0 and at most 1", f.Start
		}
		end = f.End
	}
	held := detect.Finding{Type: "HELD", End: 1, Score: 1}
	again := d.Find([]detect.Finding{held}, text)
	if len(again) == 0 || again[0] != held || !slices.Equal(again[1:], whole) {
		return "Find does not append the same to what was there", 0
	}
	if !race && len(whole) == 0 && testing.AllocsPerRun(3, func() { d.Find(nil, text) }) >= 1 {
		return "a text without findings costs an allocation", 0
	}
	return "", 0
}

// before returns how many findings begin before the byte at open.
func before(found []detect.Finding, open int) int {
	n, _ := slices.BinarySearchFunc(found, open,
		func(f detect.Finding, at int) int { return f.Start - at })
	return n
}

// next returns the split after the one at n of a text of size bytes.
func next(n, size int) int {
	if size <= everySplit || n < edge || n >= size-edge {
		return n + 1
	}
	return min(n+max(size/200, 1), size-edge)
}

// clip returns the part of a text around a place, for a message.
func clip(text string, at int) string {
	return text[max(0, at-200):min(len(text), at+200)]
}

// HoldBack returns how many bytes a stream has to hold back. At half of all places in the texts it
// is at most p50 bytes, and at 99 in 100 places at most p99.
func HoldBack(d detect.Detector, texts []string) (p50, p99 int) {
	var held []int
	for _, text := range texts {
		for n := 1; n <= len(text); n = next(n, len(text)) {
			_, open := d.Reader().Read(nil, text[:n])
			held = append(held, n-open)
		}
	}
	if len(held) == 0 {
		return 0, 0
	}
	slices.Sort(held)
	return held[(len(held)-1)/2], held[(99*len(held)-1)/100]
}

// An Opener is a detector of which a test says what it finds, and from where on a text is open.
type Opener interface {
	Find(found []detect.Finding, text string) []detect.Finding
	Open(text string) int
}

// ReadAll returns a reader that reads all of a text each time.
func ReadAll(d Opener) detect.Reader { return &allReader{Opener: d} }

type allReader struct {
	Opener
	open int // what Read returned last
}

func (r *allReader) Wait() int { return 0 }

func (r *allReader) Clone() detect.Reader {
	clone := *r
	return &clone
}

func (r *allReader) Read(found []detect.Finding, text string) ([]detect.Finding, int) {
	known := len(found)
	found = r.Find(found, text)
	open := r.Open(text)
	settled := found[:known]
	for _, f := range found[known:] {
		if f.End > r.open && f.Start < open {
			settled = append(settled, f)
		}
	}
	r.open = open
	return settled, open
}
