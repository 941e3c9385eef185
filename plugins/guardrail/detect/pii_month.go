package detect

import "strings"

// beginsMonth says whether three small letters begin the name of a month, in English, German, French, Spanish, Italian,
// Portuguese or Dutch.
func beginsMonth(letters []byte) bool {
	switch string(letters) {
	case "jan", "jän", "ene", "gen", "feb", "fev", "fév", "mar", "mär", "maa", "mrt", "apr", "avr", "abr", "may", "mai", "mag", "mei", "jun", "jui", "giu", "jul", "lug", "aug", "ago", "aoû", "sep", "set", "oct", "okt", "ott", "out", "nov", "dec", "dez", "dic", "déc":
		return true
	}
	return false
}

// monthly says whether a word that begins so can be a month's name in English.
func monthly(c byte) bool { return c < 'T' && strings.IndexByte("JFMASOND", c) >= 0 }

// month returns where a month's name that begins at i ends; 0 if none does.
func (r *reader) month(i int) int {
	end := i
	for aLetter(r.at(end)) || leadsLetter(r.at(end)) || end > i && r.at(end) >= 0x80 && r.at(end) < 0xc0 {
		if end++; end-i > 12 {
			return 0
		}
	}
	if end-i < 3 {
		return 0
	}
	var buf [32]byte
	key := buf[:0]
	letters := 0
	for n := i; n < end && letters < 3; n++ {
		c := r.text[n]
		if kinds[c]&upperByte != 0 {
			c += 'a' - 'A'
		}
		if c < 0x80 || c >= 0xc0 {
			letters++
		}
		if key = append(key, c); c >= 0xc0 && n+1 < end {
			n++
			key = append(key, r.text[n])
		}
	}
	if !beginsMonth(key) {
		return 0
	}
	if r.at(end) == '.' {
		end++
	}
	return end
}

// dayFirst finds 3 February 2001, 3rd of Feb 2001, 3-Feb-2001, 3. Februar 2001, 3 de febrero de 2001.
func (f *finder) dayFirst(v *numeral) {
	i := v.start
	for aDigit(v.at(i)) {
		i++
	}
	if d := v.value(0); i-v.start > 2 || d < 1 || d > 31 || v.joinedLeft() {
		return
	}
	i = v.skip(i, "st ", "nd ", "rd ", "th ", ". ", " ", "-", ".")
	i = v.skip(i, "of ", "de ")
	end := v.month(i)
	if end == 0 {
		return
	}
	end = v.skip(end, ", ", " de ", " ", "-")
	if !v.year(end) {
		return
	}
	f.day(v, v.start, end+4, true)
}

// monthFirst finds February 3, 2001, whose month is what stands from start to i.
func (f *finder) monthFirst(v *numeral, start, i int) {
	if i-start < 3 || i-start > 9 || v.at(i) != ' ' && v.at(i) != '.' || v.month(start) == 0 {
		return
	}
	n := v.skip(v.skip(i, "."), " ")
	day := n
	for n < day+2 && aDigit(v.at(n)) {
		n++
	}
	if n == day {
		return
	}
	n = v.skip(n, "st", "nd", "rd", "th")
	n = v.skip(n, ", ", " ", ",")
	if v.year(n) {
		v.start, v.pre, v.heard = start, start, false
		f.day(v, start, n+4, true)
	}
}

// skip returns where the first of the parts that stands at i ends, or i.
func (r *reader) skip(i int, parts ...string) int {
	for _, part := range parts {
		n := 0
		for n < len(part) && r.at(i+n) == part[n] {
			n++
		}
		if n == len(part) {
			return i + n
		}
	}
	return i
}

// year says whether a year stands at i.
func (v *numeral) year(i int) bool {
	return (v.at(i) == '1' || v.at(i) == '2') && aDigit(v.at(i+1)) && aDigit(v.at(i+2)) && aDigit(v.at(i+3)) && !alnum(v.at(i+4))
}
