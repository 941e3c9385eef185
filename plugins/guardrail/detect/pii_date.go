package detect

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
