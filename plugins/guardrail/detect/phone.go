package detect

import "github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"

// A phonePlan says how many digits an international number has, with the country's code; most is 0
// if no country has such a code.
type phonePlan struct{ least, most uint8 }

// A nationalPhone is the telephone numbers of a country. They are found only where some types are
// asked for, and this one is among them: beside all others such a number is a PHONE_NUMBER.
type nationalPhone struct {
	kind    string
	country int      // the country's code
	digits  int      // how many digits follow it
	areas   [][2]int // what the first two of them may be
}

// readPhones reads how long international numbers are, and which numbers are a country's.
func (t *piiTables) readPhones() {
	for _, row := range rowsOf("phones.txt", "begins", "least", "most") {
		for _, r := range row.Ranges(0) {
			for two := r[0]; two <= r[1]; two++ {
				t.phones[two] = phonePlan{least: uint8(row.Int(1)), most: uint8(row.Int(2))}
			}
		}
	}
	for _, row := range rowsOf("national_phones.txt", "type", "country", "digits", "areas") {
		p := nationalPhone{kind: row.Cells[0], country: row.Int(1), digits: row.Int(2), areas: row.Ranges(3)}
		t.national = append(t.national, p)
		t.types = append(t.types, p.kind)
	}
}

// isInternational tells whether digits begin with a country's code, and count is a number of digits
// that telephone numbers with this code have.
func (t *piiTables) isInternational(digits []byte, count int) bool {
	if len(digits) < 7 {
		return false
	}
	plan := t.phones[checkdigit.Decimal(digits[:2])]
	return plan.most > 0 && count >= int(plan.least) && count <= int(plan.most)
}

// phone finds telephone numbers. By their form alone it finds those with + or 00 and a country's
// code (ITU-T E.164), in North America's 3-3-4, with the area in parentheses, with a leading 0 in
// groups, and in groups that little else is written in. Other groups, and plain digits, must be
// said to be a telephone's; and none is one right after a word such as order.
func (f *finder) phone(v *numeral) {
	n := v.phoneGroups()
	if n == 0 || v.link || v.joinedLeft() {
		return
	}
	start := v.pre
	if v.paren && (v.n == 1 || v.groups[1].sep != ')') { // it is not the area that is in parentheses
		v.paren = false
		start = v.start
		if v.plus {
			start--
		}
	}

	// Within a country, a group of one digit ends the number.
	var buf [numberBytes + wordBytes]byte
	digits := v.digits(buf[:0], n)
	if !v.plus && (len(digits) < 7 || !v.isAbroad(digits)) {
		for i := 2; i < n; i++ {
			if v.groups[i].size() == 1 {
				n = i
				digits = v.digits(buf[:0], n)
			}
		}
	}

	// Try with all groups, then with one less each time.
	for n > 0 && len(digits) >= 7 {
		if len(digits) <= 17 && !v.isUnclosed(n) {
			end := v.extended(n)
			rule, score := v.dialled(digits, n, end)
			if score == 0 && f.isAsked(v, end) && v.nationalForm(digits, n) != noForm &&
				!v.isDated(n) && !v.isYears(n) {
				rule = "whole"
				score = .2 // any other type that was asked for comes first
			}
			if score > 0 {
				f.add("PHONE_NUMBER", rule, start, end, score)
				f.nationalPhone(digits, v.plus, start, end, score)
				return
			}
		}
		n--
		digits = digits[:len(digits)-v.groups[n].size()]
	}
}

// isAbroad tells whether a number begins with 00, which is dialled before a country's code. The 0
// of 0.032365 is none.
func (v *numeral) isAbroad(digits []byte) bool {
	return digits[0] == '0' && digits[1] == '0' && v.groups[0].size() > 1
}

// phoneGroups returns how many of the first groups a telephone number could have.
func (v *numeral) phoneGroups() int {
	parens := 0
	for i := 1; i < v.plain; i++ {
		switch v.groups[i].sep {
		case '(':
			parens++
			if parens > 1 || v.paren {
				return i
			}
		case '/': // after an area's code, as in Germany
			if (i > 1 || v.groups[0].size() < 3) && !(v.plus && i <= 2) {
				return i
			}
		case ')':
			if parens == 0 && !(v.paren && i == 1) {
				return i
			}
		}
	}
	return v.plain
}

// isUnclosed tells whether a parenthesis that begins in the first n groups does not end there.
func (v *numeral) isUnclosed(n int) bool {
	open := v.paren
	for i := 1; i < n; i++ {
		open = v.groups[i].sep == '(' || open && v.groups[i].sep != ')'
	}
	return open
}

// extended returns where the first n groups end with the extension that follows them, such as x12
// or ext. 12.
func (v *numeral) extended(n int) int {
	end := v.groups[n-1].end
	if n == v.n && v.ext > 0 {
		return v.ext
	}

	// The word.
	i := end
	for i < end+2 && (v.peek(i) == ' ' || v.peek(i) == ',') {
		i++
	}
	letters := 0
	for i < end+12 && isLetter(v.peek(i)) {
		i++
		letters++
	}
	if letters == 0 || !isListed(extensionWords, v.text[i-letters:i]) {
		return end
	}

	// The digits.
	for range 2 {
		switch v.peek(i) {
		case ' ', '.', ':', '#':
			i++
		}
	}
	i = v.extension(i)
	if i > 0 {
		return i
	}
	return end
}

var extensionWords = []string{"x", "ext", "extn", "extension"}

// dialled returns a score for the first n groups being a telephone number, which ends at end with
// its extension; 0 if they are none.
func (v *numeral) dialled(digits []byte, n, end int) (rule string, score float64) {
	// a user and a password, a host and a port
	if v.joinedRight(end) || v.peek(end) == ':' && isAlnum(v.peek(end+1)) {
		return "", 0
	}

	// With the country's code.
	if v.plus || v.isAbroad(digits) {
		international := digits
		score := .95
		if !v.plus {
			international = digits[2:]
			score = .8
		}
		count := len(international)
		for i := 1; i < n; i++ {
			g := &v.groups[i]
			if g.sep == '(' && g.size() == 1 && v.text[g.start] == '0' {
				count-- // the 0 that is dialled within the country only
			}
		}
		if v.tables.isInternational(international, count) && (v.plus || n > 1) {
			return "international", score
		}
		if v.plus {
			return "", 0
		}
	}

	if v.isYears(n) {
		return "", 0
	}
	form := v.nationalForm(digits, n)
	extended := end > v.groups[n-1].end
	abroad := v.isAbroad(digits) && n == 1
	if form == noForm && !abroad {
		return "", 0
	}
	near, labelled := v.labelBefore(phoneList)
	if abroad && (labelled || v.isFollowed(end, v.tables.phoneLabels)) {
		if v.tables.isInternational(digits[2:], len(digits)-2) {
			return "international", .9
		}
	}

	// What says that it is another number.
	other, isOther := v.labelBefore(otherList)
	if isOther && other < 2 && other < near && !v.isAbove(other) && !(form == ownForm && extended) {
		return "", 0
	}
	if v.hangs() && !labelled || v.isDated(n) {
		return "", 0
	}

	switch {
	case form == noForm:
		return "", 0
	case labelled:
		return "national", .9
	case form == ownForm && !v.isCrowded(n), v.isFollowed(end, v.tables.phoneLabels), v.isNumbered(n):
		return "national", .7
	case extended && n > 1:
		return "national", .7
	}
	return "", 0
}

// How much a form says that a number is a telephone number within a country.
const (
	noForm   = iota
	openForm // it could be one, if something else says so
	ownForm  // nothing else looks so
)

// isOwnGroups tells whether groups of these sizes are ones in which numbers without a leading 0
// are written, in Turkey, Spain, Portugal, Poland, Mexico, and little else is.
func isOwnGroups(sizes string) bool {
	switch sizes {
	case "3322", "2322", "3222", "244", "2334":
		return true
	}
	return false
}

// nationalForm tells how much the first n groups look like a number within a country.
func (v *numeral) nationalForm(digits []byte, n int) int {
	if len(digits) > 12 {
		return noForm
	}

	// The sizes of the groups, and the one separator between them. The first one may be another.
	var buf [numberGroups]byte
	sizes := buf[:0]
	sep := byte(0)
	mixed := false // as in 495 123-45-67, 08-123 456 78
	first := v.groups[0].size()
	for i := range n {
		g := &v.groups[i]
		second := byte(0)
		if i == 1 && n > 2 {
			second = v.groups[2].sep
		}
		switch {
		case i == 0:
		case i == 1 && (g.sep == ')' || g.sep == '/'):
		case i == 2 && first == 1 && g.sep == ')' && isTrunk(digits[0]): // 1 (555) 555-0100
		case i == 1 && g.sep == '(' && isTrunk(digits[0]):
		case g.sep == ' ' && second == '-', g.sep == '-' && second == ' ':
			mixed = true
		case sep == 0:
			sep = g.sep
		case sep != g.sep:
			return noForm
		}
		if g.size() > 12 {
			return noForm
		}
		if g.size() == 1 && i > 0 && (i > 1 || digits[0] != '0' || first != 2 && first != 5) {
			return noForm
		}
		sizes = append(sizes, '0'+byte(g.size()))
	}
	if sep == '(' || sep == ')' || sep == '/' && n > 2 {
		return noForm
	}

	// Forms that nothing else has.
	shape := string(sizes) // compared only, so that it does not leave the stack
	switch {
	case shape == "334" && digits[0] > '1' && digits[3] > '0':
		return ownForm
	case shape == "1334" && digits[0] == '1' && digits[1] > '1':
		return ownForm
	case shape == "344" && digits[0] == '1' && digits[1] > '2':
		return ownForm
	case shape == "13322" && digits[0] == '8' && digits[1] > '2':
		return ownForm
	case shape == "254" && mixed:
		return ownForm
	case shape == "433" && (string(digits[:4]) == "1300" || string(digits[:4]) == "1800"):
		return ownForm
	case v.paren && len(digits) <= 11 && first > 1 && first < 6 && n > 1:
		return ownForm
	case digits[0] == '0' && digits[1] != '0':
		return v.zeroForm(shape, len(digits))
	case digits[0] > '1' && (sep == ' ' || sep == '-') && isOwnGroups(shape):
		return ownForm
	case digits[0] > '1' && sep == '-' && shape == "2222":
		return ownForm
	case first == 1 && shape != "1334" && shape != "144" && n > 1 && digits[0] != '0':
		return noForm
	}
	return openForm
}

// zeroForm is nationalForm for numbers that begin with the 0 that is dialled within a country, as
// in Europe, Asia, Africa and Australia, and that no quantity begins with: their area's code, of 2
// to 6 digits with it, and the rest in groups of any size. Only 3-2-4, which is how social
// security numbers are written, is as usual elsewhere.
func (v *numeral) zeroForm(shape string, digits int) int {
	first := v.groups[0].size()
	switch {
	case shape == "13222": // 0 800 12 34 56
		return ownForm
	case digits < 9, first < 2, first > 6, len(shape) < 2, len(shape) > 5:
		return openForm
	case shape == "324", shape == "3333":
		return openForm
	case len(shape) == 2 && (shape[1] < '5' || v.groups[1].sep == '.'): // a decimal fraction
		return openForm
	}
	return ownForm
}

// isTrunk tells whether a digit is dialled before an area's code: in North America, in Russia.
func isTrunk(digit byte) bool { return digit == '1' || digit == '8' }

// isNumbered tells whether a word such as number stands before the first n groups, no word that
// makes it another's, and they are no quantity and no range.
func (v *numeral) isNumbered(n int) bool {
	_, labelled := v.labelBefore(numberList)
	end := v.groups[n-1].end
	if v.peek(end) == ' ' && isUpper(v.peek(end+1)) { // a house's, before its street
		return false
	}
	if !labelled || v.isOther() || n < 2 || v.isLarge(n) || v.isCrowded(n) {
		return false
	}
	if n > 2 {
		return true
	}
	first := v.groups[0].size()
	second := v.groups[1].size()
	return v.groups[1].sep == ' ' && second > 3 || first == 3 && second == 4
}

// isLarge tells whether the first n groups may be one large number, or years.
func (v *numeral) isLarge(n int) bool {
	years := true
	threes := v.groups[0].size() <= 3
	for i := range n {
		g := &v.groups[i]
		threes = threes && (i == 0 || g.size() == 3)
		years = years && v.isYear(g)
	}
	return threes || years
}

// isYears tells whether the first n groups are two years with a hyphen between, such as 2006-2009.
func (v *numeral) isYears(n int) bool {
	return n == 2 && v.groups[1].sep == '-' && v.isYear(&v.groups[0]) && v.isYear(&v.groups[1]) &&
		v.value(0) <= v.value(1) && v.pre == v.start
}

// isCrowded tells whether other digits stand beside the first n groups with nothing but a space
// between, so that it is not clear where a number begins and ends.
func (v *numeral) isCrowded(n int) bool {
	if n < 2 || v.groups[n-1].sep != ' ' {
		return false
	}
	if v.back(v.pre, 1) == ' ' && isDigit(v.back(v.pre, 2)) {
		return true
	}
	return n < v.n && v.groups[n].sep == ' ' && v.groups[n].digits > 0
}
