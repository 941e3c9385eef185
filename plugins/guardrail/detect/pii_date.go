package detect

import "strings"

// birthWords are said before dates of birth.
const birthWords = "birth,born,dob,birthday,birthdate,bday,date of birth,geboren,geburtsdatum,geburtstag,geb,né,née,naissance,nacido,nacida,nacimiento,nascido,nascida,nascimento,nato,nata,nascita,geboortedatum," +
	"född,født,fødselsdato,födelsedatum,syntynyt,syntymäaika,urodzony,urodzona,urodzenia,született,doğum,рождения,родился,родилась,γέννησης,生年月日,出生,생년월일"

// date finds dates in figures: 2001-02-03 with or without a time of day (ISO 8601 and what people make of it), 3/2/2001,
// 03.02.2001, with years of four digits; after a word such as born also of two.
func (f *finder) date(v *numeral) {
	if v.n < 3 || v.joinedLeft() || v.link || v.groups[1].sep != v.groups[2].sep {
		return
	}
	switch v.groups[1].sep {
	case '-', '/', '.':
	default:
		return
	}
	a, b, c := v.value(0), v.value(1), v.value(2)
	end := v.groups[2].end
	long := false
	switch last := v.groups[2].size(); {
	case v.groups[0].size() == 4:
		if a < 1000 || a > 2999 || c < 1 || !dayOf(b, c) {
			return
		}
		end, long = v.timeOfDay(v.groups[2].start+min(2, last)), true
	case v.groups[0].size() > 2 || v.groups[2].digits < last || !dayOf(a, b) && !dayOf(b, a):
		return
	case last == 4 && c >= 1000 && c <= 2999:
		end, long = v.timeOfDay(end), true
	case last != 2:
		return
	}
	if v.joinedRight(end) || alnum(v.at(end)) {
		return
	}
	f.day(v, v.start, end, long)
}

// day adds a date.
func (f *finder) day(v *numeral, start, end int, long bool) {
	if near, ok := v.said(birthList); ok && near < 6 {
		f.add("DATE_OF_BIRTH", "words", start, end, .85)
	} else if long {
		f.add("DATE_TIME", "date", start, end, .6)
	}
}

// value is a group's number if it is short and begins with digits: those of it; else 0.
func (v *numeral) value(i int) int {
	g := &v.groups[i]
	n := 0
	for j := g.start; j < g.end && j < g.start+4 && aDigit(v.text[j]); j++ {
		n = 10*n + int(v.text[j]-'0')
	}
	if g.size() > 4 && g.digits == g.size() {
		return 0
	}
	return n
}

// timeOfDay returns where a date that ends at i ends with the time behind it: 10:20, 10:20:30.5, with Z or +01:00.
func (v *numeral) timeOfDay(i int) int {
	end := i
	if c := v.at(i); c == 'T' || c == ' ' {
		i++
	} else {
		return end
	}
	for n := 0; n < 3; n++ {
		if !aDigit(v.at(i)) || !aDigit(v.at(i+1)) {
			return end
		}
		if i += 2; n > 0 {
			end = i
		}
		if v.at(i) != ':' || n == 2 {
			break
		}
		i++
	}
	if i != end {
		return end
	}
	if v.at(i) == '.' {
		for n := 1; n < 10 && aDigit(v.at(i+n)); n++ {
			end = i + n + 1
		}
	}
	switch v.at(end) {
	case 'Z':
		return end + 1
	case '+', '-':
		if i = end + 1; aDigit(v.at(i)) && aDigit(v.at(i+1)) && v.at(i+2) == ':' && aDigit(v.at(i+3)) && aDigit(v.at(i+4)) {
			return i + 5
		}
	}
	return end
}

// months are the beginnings of the names of months in English, German, French, Spanish, Italian, Portuguese and Dutch.
const months = " jan jän ene gen feb fev fév mar mär maa mrt apr avr abr may mai mag mei jun jui giu jul lug aug ago aoû sep set oct okt ott out nov dec dez dic déc "

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
	var buf [8]byte
	key := append(buf[:0], ' ')
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
	if !contains(months, append(key, ' ')) {
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
