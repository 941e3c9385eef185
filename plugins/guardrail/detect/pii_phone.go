package detect

import "strings"

// phone finds telephone numbers. By their form alone: with + or 00 and a country's code (ITU-T E.164), in North
// America's 3-3-4, with the area in parentheses, with a leading 0 in groups, and in groups that little else is written in.
// Other groups, and plain digits, must be said to be a telephone's; and none is one right after a word such as order.
func (f *finder) phone(v *numeral) {
	n := v.phoneGroups()
	if n == 0 || v.link || v.joinedLeft() {
		return
	}
	start := v.pre
	if v.paren && (v.n == 1 || v.groups[1].sep != ')') { // it is not the area that is in parentheses
		v.paren = false
		if start = v.start; v.plus {
			start--
		}
	}
	var buf [numberBytes + wordBytes]byte
	d := v.digits(buf[:0], n)
	if !v.plus && (len(d) < 7 || !v.abroad(d)) { // within a country: see nationalForm
		for i := 2; i < n; i++ {
			if v.groups[i].size() == 1 {
				n = i
				d = v.digits(buf[:0], n)
			}
		}
	}
	for ; n > 0 && len(d) >= 7; d, n = d[:len(d)-v.groups[n-1].size()], n-1 {
		if len(d) > 17 || v.unclosed(n) {
			continue
		}
		end := v.extended(n)
		if v.joinedRight(end) || v.at(end) == ':' && alnum(v.at(end+1)) { // a user and a password, a host and a port
			continue
		}
		if rule, score := v.dialled(d, n, end); score > 0 {
			f.add("PHONE_NUMBER", rule, start, end, score)
			return
		}
	}
}

// abroad says whether a number begins with 00, which is dialled before a country's code. The 0 of 0.032365 is none.
func (v *numeral) abroad(d []byte) bool {
	return d[0] == '0' && d[1] == '0' && v.groups[0].size() > 1
}

// phoneGroups returns how many of the first groups a telephone number could have.
func (v *numeral) phoneGroups() int {
	n := v.plain
	parens := 0
	for i := 1; i < n; i++ {
		switch v.groups[i].sep {
		case '(':
			if parens++; parens > 1 || v.paren {
				return i
			}
		case '/':
			if (i > 1 || v.groups[0].size() < 3) && !(v.plus && i <= 2) { // an area's code before it, as in Germany
				return i
			}
		case ')':
			if parens == 0 && !(v.paren && i == 1) {
				return i
			}
		}
	}
	return n
}

// unclosed says whether a parenthesis that begins in the first n groups does not end there.
func (v *numeral) unclosed(n int) bool {
	open := v.paren
	for i := 1; i < n; i++ {
		open = v.groups[i].sep == '(' || open && v.groups[i].sep != ')'
	}
	return open
}

// extended returns where the first n groups end with the extension that follows them, such as x12 or ext. 12.
func (v *numeral) extended(n int) int {
	end := v.groups[n-1].end
	if n == v.n && v.ext > 0 {
		return v.ext
	}
	i := end
	for i < end+2 && (v.at(i) == ' ' || v.at(i) == ',') {
		i++
	}
	letters := 0
	for i < end+12 && aLetter(v.at(i)) {
		i++
		letters++
	}
	switch word := v.text[i-letters : i]; {
	case word == "x", word == "X", strings.EqualFold(word, "ext"), strings.EqualFold(word, "extn"), strings.EqualFold(word, "extension"):
	default:
		return end
	}
	for range 2 {
		switch v.at(i) {
		case ' ', '.', ':', '#':
			i++
		}
	}
	if i = v.extension(i); i > 0 {
		return i
	}
	return end
}

// dialled says how sure it is that the first n groups, whose digits are d, are a telephone number that ends at end with
// its extension; 0 if they are none.
func (v *numeral) dialled(d []byte, n, end int) (rule string, score float64) {
	if v.plus || v.abroad(d) {
		cc, score := d, .95
		if !v.plus {
			cc, score = d[2:], .8
		}
		digits := len(cc)
		for i := 1; i < n; i++ {
			if g := &v.groups[i]; g.sep == '(' && g.size() == 1 && v.text[g.start] == '0' {
				digits-- // the 0 that is dialled within the country only
			}
		}
		if lo, hi := dialLengths(cc); digits >= lo && digits <= hi && (v.plus || n > 1) {
			return "international", score
		}
		if v.plus {
			return "", 0
		}
	}
	form, extended := v.nationalForm(d, n), end > v.groups[n-1].end
	abroad := v.abroad(d) && n == 1
	if form == noForm && !abroad {
		return "", 0
	}
	near, said := v.said(phoneList)
	if abroad && (said || v.followed(end, phoneLabels)) {
		if lo, hi := dialLengths(d[2:]); len(d)-2 >= lo && len(d)-2 <= hi {
			return "international", .9
		}
	}
	if other, ok := v.said(otherList); ok && other < 2 && other < near && !v.above(other) && !(form == ownForm && extended) || v.hangs() && !said || v.dated(n) {
		return "", 0
	}
	switch {
	case form == noForm:
	case said:
		return "national", .9
	case form == ownForm && !v.crowded(n), v.followed(end, phoneLabels), v.numbered(n):
		return "national", .7
	case extended && n > 1:
		return "national", .7
	}
	return "", 0
}
