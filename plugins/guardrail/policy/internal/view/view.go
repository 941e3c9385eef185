// Package view undoes the disguises of a text, so that detectors find what is written in look-alike
// letters, between invisible characters or in base64.
//
// A text has up to five views. Each is a text of its own that maps each of its parts to the part of
// the original that it was made from. Only the original is ever edited.
//
//	raw            the text itself
//	normalised     invisible characters and marks taken out, look-alikes and compatibility forms as ASCII
//	decoded        normalised, and what is encoded stands there decoded: base64 and base64url, also of UTF-16, hex
//	               (a run, or bytes in pairs), percent, HTML and backslash escapes, letters that are spaced out:
//	               with up to four bytes between any two, the same throughout, and something else between words
//	decoded twice  the same done to that
//	hidden         normalised, with Unicode's tag characters and supplementary variation selectors, which carry text
//	               that nobody sees, as the characters they stand for; and decoded once: hidden and decoded
//
// A view that would be equal to the one before it is not made: most texts have no view but the raw
// one, and finding that out costs one look at each byte and no allocation. One that is made costs
// an allocation for its text.
//
// The normalised view is made so:
//
//   - Taken out are control characters but tab and line ends, terminals' control sequences, what
//     Unicode calls default ignorable (zero-width, bidirectional, tags, variation selectors, soft
//     hyphens) and combining marks of no script.
//   - Letters, digits, spaces and punctuation that look like ASCII become it: NFKD without marks
//     if that is ASCII, the look-alikes of Cyrillic, Greek, Armenian, Cherokee and others (a
//     table after Unicode's confusables.txt, cut to what is mistaken for one ASCII character),
//     letters in circles, squares and flags, decimal digits of every script.
//   - Compatibility forms of other scripts, such as half-width kana, become what they stand for,
//     one by one.
//
// Everything else stays, bytes that are no UTF-8 too. Upper and lower case are kept. Each character
// is folded without a look at its neighbours, so genuine Cyrillic and Greek change as well: words
// of these scripts are found in the raw view.
//
// What is encoded counts as such only if it decodes to text: valid UTF-8 without control
// characters, at least 8 bytes of it for base64, hex and pairs, 5 letters if spaced, in one word or
// in several. Not undone are: a key of any kind (rot13, ciphers), a text written backwards, digits for letters (l33t),
// words in place of letters, compression, decimal and binary character codes, base32, and anything
// in three layers. A view is bounded by its original: decoding makes no text longer, and folding at
// most twelve times as long.
//
// To have another encoding undone, add a kind in scan.go, a function that recognises it, and a case in encode.go.
// To have another look-alike folded, add it to its row in alike.txt.
package view

import (
	"sort"
	"unicode/utf8"
)

// The names of views.
const (
	RawView          = "raw"
	NormalisedView   = "normalised"
	DecodedView      = "decoded"
	DecodedTwiceView = "decoded twice"
	HiddenView       = "hidden"
	HiddenDecoded    = "hidden and decoded"
)

// A View is a text, its original, with some disguises undone.
type View struct {
	Name string
	Text string

	parent *View   // what pieces count in; nil in the raw view, where everything stands for itself
	like   *View   // the view that has the same text but for what is hidden; nil if there is none
	hidden span    // where that stands in the original
	pieces []piece // what Text is made of
	size   int     // bytes of what pieces count in
}

// itself returns the raw view of a text.
func itself(text string) View {
	return View{Name: RawView, Text: text, size: len(text)}
}

// Original maps the bytes from start to end of the view's text to the original. If they touch a
// part of an encoded run, the whole part counts. The result begins and ends at the borders of
// characters. It panics if start and end are not valid for the text.
func (v View) Original(start, end int) (int, int) {
	_ = v.Text[start:end]
	start, end = whole(v.Text, start, end)
	for p := &v; p.parent != nil; p = p.parent {
		start, end = p.source(start, end)
	}
	return start, end
}

// At returns where in the view's text a byte of the original stands, or the first one behind it that
// the view shows.
func (v *View) At(original int) int {
	if v.parent == nil {
		return original
	}
	from := v.parent.At(original)
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].to > from })
	if i == len(v.pieces) {
		return len(v.Text)
	}
	p := &v.pieces[i]
	if p.same {
		return p.start + max(0, from-p.from)
	}
	return p.start
}

// Changes calls yield with the start and the end of each part of the view's text that is not as in another
// view: in the one that it was made from or, if it shows what is hidden and less is different there, in
// the one without that. Where something was taken out, the part is empty.
func (v *View) Changes(yield func(start, end int) bool) {
	if v.like == nil {
		v.made(yield)
		return
	}
	from, to := v.shows()
	made := 0
	for start, end := range v.made {
		made += end - start
	}
	if made < to-from {
		v.made(yield)
		return
	}
	yield(from, to)
}

// made is Changes for the view that v was made from.
func (v *View) made(yield func(start, end int) bool) {
	at := 0     // behind what is the same
	source := 0 // and where that ends in the other view
	for n, p := range v.pieces {
		if !p.same {
			continue
		}
		if (p.start != at || p.from != source) && !yield(at, p.start) {
			return
		}
		at = len(v.Text)
		if n+1 < len(v.pieces) {
			at = v.pieces[n+1].start
		}
		source = p.to
	}
	if at != len(v.Text) || source != v.size {
		yield(at, len(v.Text))
	}
}

// shows returns the part of the view's text that has all that is not in the view without what is hidden.
// Before it and behind it both have the same characters.
func (v *View) shows() (from, to int) {
	text, old := v.Text, v.like.Text
	for from < min(len(text), len(old)) && text[from] == old[from] {
		from++
	}
	same := 0 // how many bytes are the same at the end
	for same < min(len(text), len(old)) && text[len(text)-1-same] == old[len(old)-1-same] {
		same++
	}

	// What is hidden may be as the characters around it. Its place in the original is known.
	from = min(from, v.At(v.hidden.from))
	to = v.At(v.hidden.to)
	for to < len(text) {
		if start, _ := v.Original(to, to+1); start >= v.hidden.to {
			break
		}
		to++
	}
	return from, max(to, len(text)-same)
}

// source maps a part of the view's text to what it was made from.
func (v *View) source(start, end int) (int, int) {
	from := v.size
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].start > start }) - 1
	if start < len(v.Text) {
		from = v.pieces[i].from
		if v.pieces[i].same {
			from += start - v.pieces[i].start
		}
	}
	if end == start {
		return from, from
	}
	i = sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].start >= end }) - 1
	if v.pieces[i].same {
		return from, v.pieces[i].from + end - v.pieces[i].start
	}
	return from, v.pieces[i].to
}

// whole widens a part of a text to the characters it touches.
func whole(text string, start, end int) (int, int) {
	for _, place := range []*int{&start, &end} {
		for n := 1; n < utf8.UTFMax && n <= *place; n++ {
			if _, size := utf8.DecodeRuneInString(text[*place-n:]); size > n {
				if place == &start || start == end {
					*place -= n
				} else {
					*place += size - n
				}
				break
			}
		}
	}
	return start, end
}
