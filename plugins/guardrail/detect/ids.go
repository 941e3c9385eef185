package detect

import (
	"slices"
	"strings"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// The longest official numbers and codes.
const (
	maxIDDigits = 17
	maxIDCode   = 19
)

// ids are the official numbers of persons and companies: of passports, taxes, social security and
// the like.
type ids struct {
	// numbers has those of digits by the form in which they are written, such as 3-2-4. It has an
	// empty list for each beginning of a form, such as 3-2, so that reading can stop early.
	numbers map[string][]idNumber
	// codes has those with letters by their length.
	codes [maxIDCode + 1][]idCode
}

// An idNumber is a number of digits, in one of its forms.
type idNumber struct {
	kind  string
	alone bool // in this form it needs no word before it
	check check
	list  list
}

// An idCode is a code of letters and digits, in its shapes of one length.
type idCode struct {
	kind   string
	shapes []string // A is a letter, 9 a digit, * either
	alone  bool     // it needs no word before it if it is in capitals
	spaced bool     // it may be written in groups
	check  check
	list   list
}

// readIDs reads the official numbers and codes.
func (t *piiTables) readIDs() error {
	checks, err := readChecks()
	if err != nil {
		return err
	}
	next := firstIDList

	// The numbers of digits.
	numbers, err := rowsOf("id_numbers.txt", "type", "forms", "check", "words")
	if err != nil {
		return err
	}
	t.numbers = make(map[string][]idNumber, 3*len(numbers))
	for _, row := range numbers {
		id := idNumber{kind: row.Cells[0], list: next}
		id.check, err = checkOf(checks, row, 2)
		if err != nil {
			return err
		}
		t.types = append(t.types, id.kind)
		t.learn(next, table.List(row.Cells[3]))
		next++
		for _, form := range table.List(row.Cells[1]) {
			form, id.alone = strings.CutSuffix(form, "!")
			t.numbers[form] = append(t.numbers[form], id)
			for i := range form {
				if !isDigit(form[i]) && t.numbers[form[:i]] == nil {
					t.numbers[form[:i]] = []idNumber{}
				}
			}
		}
	}

	// The codes with letters.
	codes, err := rowsOf("id_codes.txt", "type", "shapes", "flags", "check", "words")
	if err != nil {
		return err
	}
	for _, row := range codes {
		id := idCode{kind: row.Cells[0], list: next}
		for _, flag := range table.List(row.Cells[2]) {
			switch flag {
			case "alone":
				id.alone = true
			case "spaced":
				id.spaced = true
			default:
				return row.Errorf("%q is neither alone nor spaced", flag)
			}
		}
		id.check, err = checkOf(checks, row, 3)
		if err != nil {
			return err
		}
		t.types = append(t.types, id.kind)
		t.learn(next, table.List(row.Cells[4]))
		next++
		for _, shape := range table.List(row.Cells[1]) {
			if len(shape) > maxIDCode {
				return row.Errorf("the shape %s is longer than %d", shape, maxIDCode)
			}
			known := t.codes[len(shape)]
			if last := len(known) - 1; last >= 0 && known[last].list == id.list {
				known[last].shapes = append(known[last].shapes, shape)
				continue
			}
			id.shapes = []string{shape}
			t.codes[len(shape)] = append(known, id)
		}
	}
	if last := len(codes) - 1; next > maxLists {
		return codes[last].Errorf("there are more than %d lists of words", maxLists)
	}
	return nil
}

// A check returns the rule of a number's check digits. It parses the rule when it is first called,
// for most are never needed. It is nil if there are no check digits.
type check func() *checkdigit.Rule

// readChecks reads the rules of check digits, by their names.
func readChecks() (map[string]check, error) {
	rows, err := rowsOf("checks.txt", "name", "rule")
	if err != nil {
		return nil, err
	}
	all := make(map[string]check, len(rows))
	for i := 0; i < len(rows); {
		// Rows with the same name are alternatives.
		first := i
		name := rows[i].Cells[0]
		for i < len(rows) && rows[i].Cells[0] == name {
			i++
		}
		if all[name] != nil {
			return nil, rows[first].Errorf("the rows of %q do not stand together", name)
		}
		alternatives := rows[first:i]
		all[name] = sync.OnceValue(func() *checkdigit.Rule { return must(parseCheck(alternatives)) })
	}
	return all, nil
}

// parseCheck parses a rule whose alternatives are rows.
func parseCheck(rows []table.Row) (*checkdigit.Rule, error) {
	sources := make([]string, len(rows))
	for i, row := range rows {
		sources[i] = row.Cells[1]
	}
	rule, err := checkdigit.Parse(sources...)
	if err != nil {
		return nil, rows[0].Errorf("%w", err)
	}
	return rule, nil
}

// checkOf returns the rule that a row names in a cell; nil if the cell is empty.
func checkOf(checks map[string]check, row table.Row, cell int) (check, error) {
	name := row.Cells[cell]
	if name != "" && checks[name] == nil {
		return nil, row.Errorf("checks.txt has no rule %q", name)
	}
	return checks[name], nil
}

// idNumbers finds official numbers of digits at the beginning of a numeral.
func (f *finder) idNumbers(v *numeral) {
	if v.ext > 0 || v.joinedLeft() {
		return
	}
	var buf [3 * numberGroups]byte
	shape := buf[:0]
	total := 0
	for k := 1; k <= v.plain; k++ {
		g := &v.groups[k-1]
		total += g.size()
		if total > maxIDDigits {
			return
		}
		shape = g.shape(shape)
		known, begins := f.numbers[string(shape)]
		if !begins {
			return
		}
		if len(known) == 0 || v.joinedRight(g.end) {
			continue
		}
		var room [maxIDDigits]byte
		digits := v.digits(room[:0], k)
		all := v.isAll(g.end)
		fits := 0
		for i := range known {
			if all && known[i].check != nil && known[i].check().Holds(digits) {
				fits++
			}
		}
		for _, id := range known {
			if id.check != nil && !id.check().Holds(digits) {
				continue
			}
			_, said := v.said(id.list)
			switch {
			case said && id.check != nil:
				f.add(id.kind, "checked", v.start, g.end, 1)
			case said:
				f.add(id.kind, "words", v.start, g.end, .85)
			case fits == 1 && id.check != nil && !id.alone:
				f.add(id.kind, "checked", v.start, g.end, .4)
			case !id.alone || v.link || v.hangs():
			case k > 1:
				f.add(id.kind, "written", v.start, g.end, .85)
			case !v.isOther():
				f.add(id.kind, "checked", v.start, g.end, .6)
			}
		}
	}
}

// idCodes finds official codes of letters and digits at the beginning of a numeral.
func (f *finder) idCodes(v *numeral) {
	if isCodeSeparator(v.back(v.start, 1)) && isAlnum(v.back(v.start, 2)) || v.ext > 0 {
		return
	}
	var room [maxIDCode]byte
	code := room[:0]
	lower := false
	letters := 0
	for k := 1; k <= v.n; k++ {
		g := &v.groups[k-1]
		if len(code)+g.size() > maxIDCode {
			return
		}
		for _, c := range []byte(v.text[g.start:g.end]) {
			if isLower(c) {
				c -= 'a' - 'A'
			}
			code = append(code, c)
		}
		lower = lower || g.lower
		letters += g.size() - g.digits
		if letters == 0 && len(code) != 18 { // China's may have digits only
			continue
		}
		if isCodeSeparator(v.at(g.end)) && isAlnum(v.at(g.end+1)) {
			continue
		}
		all := v.isAll(g.end)
		fits := 0
		for i := range f.codes[len(code)] {
			id := &f.codes[len(code)][i]
			if all && (k == 1 || id.spaced) && hasShape(code, id.shapes) && (id.check == nil || id.check().Holds(code)) {
				fits++
			}
		}
		for i := range f.codes[len(code)] {
			id := &f.codes[len(code)][i]
			if k > 1 && !id.spaced || !hasShape(code, id.shapes) {
				continue
			}
			near, said := v.said(id.list)
			switch {
			case id.check != nil && !id.check().Holds(code):
				if said && near < 4 { // mistyped, or made up: it is still what it is said to be
					f.add(id.kind, "words", v.start, g.end, .5)
				}
			case said && id.check != nil:
				f.add(id.kind, "checked", v.start, g.end, 1)
			case said:
				f.add(id.kind, "words", v.start, g.end, .85)
			case fits == 1 && id.check != nil && !lower && !id.alone:
				f.add(id.kind, "checked", v.start, g.end, .4)
			case v.link || v.hangs() || v.isOther():
			case lower && (id.check == nil || k > 1):
			case id.alone || k > 2 && id.check != nil:
				f.add(id.kind, "written", v.start, g.end, .7)
			}
		}
	}
}

// isAll tells whether the numeral up to a place is all that the text has, as the value of a field
// is.
func (v *numeral) isAll(end int) bool {
	for i := range v.start {
		if v.text[i] > ' ' {
			return false
		}
	}
	for i := end; ; i++ {
		if c := v.at(i); c > ' ' || i >= len(v.text) {
			return i >= len(v.text)
		}
	}
}

// isCodeSeparator tells whether a byte joins what stands before and after it to one code.
func isCodeSeparator(c byte) bool { return c == '-' || c == '.' || c == '/' || c == '_' }

// hasShape tells whether a code has one of the shapes of its length.
func hasShape(code []byte, shapes []string) bool {
	return slices.ContainsFunc(shapes, func(shape string) bool {
		for i, c := range code {
			switch shape[i] {
			case 'A':
				if !isLetter(c) {
					return false
				}
			case '9':
				if !isDigit(c) {
					return false
				}
			}
		}
		return true
	})
}

// driverLicense finds driver's licence numbers of the United States: 5 to 16 characters, of which
// at least 4 are digits. The states publish no check digit, so a word before the number must say
// what it is.
func (f *finder) driverLicense(v *numeral) {
	size := 0
	digits := 0
	k := 0
	for k < v.n {
		g := &v.groups[k]
		if k > 0 && g.sep != '-' && !(g.sep == ' ' && g.size() == 3 && g.digits > 0) {
			break
		}
		size += g.size()
		digits += g.digits
		k++
	}
	if size < 5 || size > 16 || digits < 4 || v.link || v.plus || v.joinedLeft() {
		return
	}
	end := v.groups[k-1].end
	if v.joinedRight(end) || v.isDated(k) {
		return
	}
	near, said := v.said(driverList)
	if said && near < 5 {
		f.add("US_DRIVER_LICENSE", "words", v.start, end, .8)
	}
}
