package detect

import (
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// readMonths reads how the names of months begin.
func (t *piiTables) readMonths() {
	t.months = map[string]bool{}
	for _, row := range rowsOf("months.txt", "language", "beginnings") {
		for _, name := range table.List(row.Cells[1]) {
			t.months[name] = true
		}
	}
}

// date finds dates in figures: 2001-02-03 with or without a time of day (ISO 8601 and what people
// make of it), 3/2/2001, 03.02.2001, with years of four digits; after a word such as born, or as all
// of a text, also of two, and 2/2001.
func (f *finder) date(v *numeral) {
	if v.n == 2 && v.groups[1].sep == '/' && v.groups[0].size() < 3 && v.isYear(&v.groups[1]) && !v.link &&
		checkdigit.IsDay(v.value(0), 1) && !v.joinedLeft() && !v.joinedRight(v.groups[1].end) {
		f.day(v, v.start, v.groups[1].end, false)
	}
	if v.n < 3 || v.joinedLeft() || v.link || v.groups[1].sep != v.groups[2].sep {
		return
	}
	switch v.groups[1].sep {
	case '-', '/', '.':
	default:
		return
	}
	a := v.value(0)
	b := v.value(1)
	c := v.value(2)
	last := v.groups[2].size()
	end := v.groups[2].end
	long := false // with a year of four digits
	switch {
	case v.groups[0].size() == 4: // the year first
		if a < 1000 || a > 2999 || c < 1 || !checkdigit.IsDay(b, c) {
			return
		}
		long = true
		end = v.timeOfDay(v.groups[2].start + min(2, last))
	case v.groups[0].size() > 2 || v.groups[2].digits < last:
		return
	case !checkdigit.IsDay(a, b) && !checkdigit.IsDay(b, a):
		return
	case last == 4 && c >= 1000 && c <= 2999: // the year last
		long = true
		end = v.timeOfDay(end)
	case last != 2:
		return
	}
	if v.joinedRight(end) || isAlnum(v.peek(end)) {
		return
	}
	f.day(v, v.start, end, long)
}

// day adds a date. One with a year of two digits must be said to be one, or be all of a text.
func (f *finder) day(v *numeral, start, end int, long bool) {
	near, labelled := v.labelBefore(birthList)
	if labelled && near < 6 {
		f.add("DATE_OF_BIRTH", "words", start, end, .85)
	} else if f.isAsked(v, end) {
		f.add("DATE_OF_BIRTH", "whole", start, end, .3)
	}
	if !long {
		near, labelled = v.labelBefore(dateList)
		long = labelled && near < 4 || v.isAll(end)
	}
	if long {
		f.add("DATE_TIME", "date", start, end, .6)
	}
}

// timeOfDay returns where a date that ends at i ends with the time behind it: 10:20, 10:20:30.5,
// with Z or +01:00.
func (v *numeral) timeOfDay(i int) int {
	if c := v.peek(i); c != 'T' && c != ' ' {
		return i
	}
	hours := v.twoDigits(i + 1)
	if hours == 0 || v.peek(hours) != ':' {
		return i
	}
	end := v.twoDigits(hours + 1)
	if end == 0 {
		return i
	}
	if v.peek(end) == ':' {
		end = max(end, v.twoDigits(end+1))
	}
	if v.peek(end) == '.' {
		fraction := end + 1
		for n := fraction; n < fraction+9 && isDigit(v.peek(n)); n++ {
			end = n + 1
		}
	}

	// The time zone.
	switch v.peek(end) {
	case 'Z':
		return end + 1
	case '+', '-':
		hours = v.twoDigits(end + 1)
		if hours > 0 && v.peek(hours) == ':' {
			return max(end, v.twoDigits(hours+1))
		}
	}
	return end
}

// twoDigits returns where two digits end that stand at i; 0 if there are none.
func (v *numeral) twoDigits(i int) int {
	if isDigit(v.peek(i)) && isDigit(v.peek(i+1)) {
		return i + 2
	}
	return 0
}

// mayBeMonth tells whether an English month's name may begin with a letter.
func mayBeMonth(c byte) bool { return kinds[c]&monthByte != 0 }

// month returns where a month's name ends that begins at i; 0 if none does.
func (v *numeral) month(i int) int {
	end := v.wordEnd(i)
	if end-i < 3 || end-i > 12 {
		return 0
	}

	// The first three letters, in small letters.
	var buf [3 * wordBytes]byte
	word := v.small(buf[:0], part{i, end})
	n := 0
	for letters := 0; letters < 3 && n < len(word); letters++ {
		_, size := utf8.DecodeRune(word[n:])
		n += size
	}
	if !v.tables.months[string(word[:n])] {
		return 0
	}
	if v.peek(end) == '.' {
		end++
	}
	return end
}

// dayFirst finds 3 February 2001, 3rd of Feb 2001, 3-Feb-2001, 3. Februar 2001, 3 de febrero de
// 2001, and 3-Feb after a word such as date or as all of a text.
func (f *finder) dayFirst(v *numeral) {
	i := v.start
	for isDigit(v.peek(i)) {
		i++
	}
	day := v.value(0)
	if i-v.start > 2 || day < 1 || day > 31 || v.joinedLeft() {
		return
	}
	i = v.skip(i, "st ", "nd ", "rd ", "th ", ". ", " ", "-", ".")
	i = v.skip(i, "of ", "de ")
	end := v.month(i)
	if end == 0 {
		return
	}
	if v.text[i-1] == '-' && v.peek(end) != '-' && !isAlnum(v.peek(end)) { // 3-Feb
		f.day(v, v.start, end, false)
	}
	parted := v.peek(end) == '-'
	end = v.skip(end, ", ", " de ", " ", "-")
	switch {
	case v.year(end):
		f.day(v, v.start, end+4, true)
	case parted && isDigit(v.peek(end)) && isDigit(v.peek(end+1)) && !isAlnum(v.peek(end+2)): // 3-Feb-01
		f.day(v, v.start, end+2, true)
	}
}

// monthFirst finds February 3, 2001, whose month is what stands from start to i.
func (f *finder) monthFirst(v *numeral, start, i int) {
	if i-start < 3 || i-start > 9 || v.peek(i) != ' ' && v.peek(i) != '.' && v.peek(i) != '-' ||
		v.month(start) == 0 {
		return
	}
	year := i + 1
	if v.peek(i) != '-' { // Feb-2001 has no day
		day := v.skip(v.skip(i, "."), " ")
		n := day
		for n < day+2 && isDigit(v.peek(n)) {
			n++
		}
		if n == day {
			return
		}
		year = v.skip(v.skip(n, "st", "nd", "rd", "th"), ", ", " ", ",")
	}
	if v.year(year) {
		v.start = start
		v.pre = start
		v.labelsRead = false
		f.day(v, start, year+4, true)
	}
}

// year tells whether a year of four digits stands at i.
func (v *numeral) year(i int) bool {
	c := v.peek(i)
	return (c == '1' || c == '2') &&
		isDigit(v.peek(i+1)) && isDigit(v.peek(i+2)) && isDigit(v.peek(i+3)) && !isAlnum(v.peek(i+4))
}
