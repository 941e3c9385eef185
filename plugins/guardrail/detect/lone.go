package detect

// passedByFew is the share of all values of a form that a check may pass, so that a value that is
// all of a text is taken for what passes it.
const passedByFew = .15

// A lone is an official number that is all of a text, as the value of a field is, so that it has no
// label. Often it fits several types. It gets the type that has the fewest possible values, because
// a random number rarely fits such a type by chance.
type lone struct {
	id    *idForm // the form of this type; nil if there is none
	rule  string
	score float64
	next  float64 // how many values the type has that comes next; 0 if there is none
	fewer float64 // the same for types that need a label, the least of them; 0 if there is none
}

// consider notes a form that the number has, and whose check it passes. A form counts that was
// asked for, or hardly anything else has, or whose check few pass.
func (f *finder) consider(l *lone, w *written, id *idForm) {
	rule := "whole"
	score := .3
	switch {
	case id.check.digits() && id.share() <= passedByFew && !(w.lower && hexSet.HasAll(w.text[w.start:w.end])):
		rule = "checked"
		score = .4
	case f.only != nil:
	case w.lower && !id.anywhere || w.k < id.groups || !id.whole && !w.isUnusual():
		if l.fewer == 0 || id.values() < l.fewer {
			l.fewer = id.values()
		}
		return
	}
	switch {
	case l.id == nil:
		*l = lone{id: id, rule: rule, score: score, fewer: l.fewer}
	case id.check.name == l.id.check.name && id.check.rule != nil && id.values() == l.id.values():
		// of the same form and check, the first is as likely
	case id.values() < l.id.values():
		*l = lone{id: id, rule: rule, score: score, next: l.id.values(), fewer: l.fewer}
	case l.next == 0 || id.values() < l.next:
		l.next = id.values()
	}
}

// isAmbiguous tells whether the number is rather of a type that does not count, because it has fewer such
// values, or whether nothing speaks for its type but a check digit, and one of another type as much.
func (l *lone) isAmbiguous(w *written) bool {
	return l.fewer > 0 && l.fewer < l.id.values() ||
		l.rule == "checked" && l.next > 0 && 3*l.id.values() > l.next
}

// isUnusual tells whether little is written as the number is: it changes three times between letters
// and digits or between groups; or twice if it has three groups, or seven letters and digits. If it
// has digits only, its groups are of several sizes: quantities, too, are written in equal ones. One group
// of eight digits or more with one of the letters A to F is rather a digest.
func (w *written) isUnusual() bool {
	first := &w.groups[0]
	if w.k == 1 && first.size() > 7 && first.digits == first.size()-1 &&
		hexSet.HasAll(w.text[w.start:w.end]) {
		return false
	}
	changes := 0
	digits := true
	several := false
	for i := range w.k {
		g := &w.groups[i]
		digits = digits && g.digits == g.size()
		several = several || g.size() != w.groups[0].size()
		for pos := g.start; pos < g.end; pos++ {
			if pos == g.start && i > 0 || pos > g.start && isDigit(w.text[pos]) != isDigit(w.text[pos-1]) {
				changes++
			}
		}
	}
	return (changes > 2 || changes == 2 && (w.k > 2 || len(w.code) > 6)) && (!digits || several)
}

// isAsked tells whether the numeral up to a place is all of the text, and the types that it may be of
// are among few that were asked for: then whatever fits one of them is found.
func (f *finder) isAsked(v *numeral, end int) bool { return f.only != nil && v.isAll(end) }

// isAll tells whether the numeral up to a place is all that the text has.
func (v *numeral) isAll(end int) bool {
	for i := range v.start {
		if v.text[i] > ' ' {
			return false
		}
	}
	for i := end; ; i++ {
		if c := v.peek(i); c > ' ' || i >= len(v.text) {
			return i >= len(v.text)
		}
	}
}
