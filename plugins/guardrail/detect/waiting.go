package detect

import (
	"cmp"
	"slices"
	"strings"
)

// A waiting is a finding that may still lose against a better one that overlaps it.
type waiting struct {
	Finding
	claim claim
}

// A claim decides which of two types a number has that fits both with the same score.
type claim struct {
	near   int     // how many words stand between the number and its label
	long   int     // how many words the label has
	values float64 // how many different numbers the type has; 0 if that is not known
	list   list    // the list that the label is in; the first of two lists wins
}

// unsaid is the claim of a finding that has no label.
var unsaid = claim{near: contextWords}

// compare returns a negative number if a wins: whose word is nearer, then whose phrase is longer, then
// whose type has fewer values, then which comes first in the tables.
func (a *claim) compare(b *claim) int {
	return cmp.Or(
		cmp.Compare(a.near, b.near),
		cmp.Compare(b.long, a.long),
		cmp.Compare(a.values, b.values),
		cmp.Compare(a.list, b.list),
	)
}

// add puts a finding among those that wait, which no word says to be one. The score says how much
// speaks for it, and so which of two findings that overlap wins:
//
//	1         a word and a check digit, or a checksum in a form that only this type has
//	.9, .95   a form that only this type has, or a word and the form of a telephone number
//	.8, .85   a word and any form, or groups that hardly anything else is written in
//	.75       groups with spaces and a check digit, if they are all of the text
//	.6 to .7  a form, or a check digit, that hardly anything else has
//	.5        a host without a path, or a code whose check letter is wrong, after its word
//	.2 to .4  nothing but that it is all of the text; .4 with a check digit
func (f *finder) add(kind, rule string, start, end int, score float64) {
	f.addClaim(kind, rule, start, end, score, unsaid)
}

// addClaim puts a finding among those that wait. If there is no room for it, those there are
// decided first.
func (f *finder) addClaim(kind, rule string, start, end int, score float64, claim claim) {
	if !f.wants(kind) {
		return
	}
	if f.n == len(f.waiting) {
		f.decide()
	}
	if start >= f.closed {
		f.waiting[f.n] = waiting{
			Finding: Finding{Type: kind, Rule: rule, Start: start, End: end, Score: score},
			claim:   claim,
		}
		f.n++
		f.until = max(f.until, end)
	}
}

// decide gives out the waiting findings, but for those that a better one overlaps.
func (f *finder) decide() {
	if f.n == 0 {
		return
	}
	all := f.waiting[:f.n]
	f.n = 0

	// The best first.
	slices.SortFunc(all, func(a, b waiting) int {
		return cmp.Or(
			rank(a.Finding, b.Finding),
			a.claim.compare(&b.claim),
			strings.Compare(a.Type, b.Type),
		)
	})

	// Keep each that overlaps none of the better ones.
	kept := all[:0]
	for _, a := range all {
		overlaps := func(b waiting) bool { return a.Start < b.End && b.Start < a.End }
		if !slices.ContainsFunc(kept, overlaps) {
			kept = append(kept, a)
		}
	}

	all = kept
	slices.SortFunc(all, func(a, b waiting) int { return cmp.Compare(a.Start, b.Start) })
	for _, a := range all {
		f.closed = max(f.closed, a.End)
		f.out = append(f.out, a.Finding)
	}
}

// wants tells whether a type is asked for. UUID must be named.
func (f *finder) wants(kind string) bool {
	if f.only == nil {
		return kind != "UUID"
	}
	return f.only[kind]
}
