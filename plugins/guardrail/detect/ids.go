package detect

import (
	"math/rand/v2"
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
	// kinds has the types of both by their lists.
	kinds [maxLists]string
}

// An idNumber is a number of digits, in one of its forms.
type idNumber struct {
	kind  string
	alone bool // in this form it needs no word beside it
	whole bool // in this form it needs none if it is all of a text
	check check
	list  list
}

// An idCode is a code of letters and digits, in its shapes of one length.
type idCode struct {
	kind   string
	shapes []string // A is a letter, 9 a digit, * either; then how it is found as all of a text
	alone  bool     // it needs no word beside it if it is in capitals
	spaced bool     // it may be written in groups
	weak   bool     // its check is no check digit
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
		t.kinds[next] = id.kind
		t.learn(next, table.List(row.Cells[3]))
		next++
		for _, form := range table.List(row.Cells[1]) {
			form, id.alone = strings.CutSuffix(form, "!")
			form, id.whole = strings.CutSuffix(form, "?")
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
			case "weak":
				id.weak = true
			default:
				return row.Errorf("%q is neither alone nor spaced nor weak", flag)
			}
		}
		id.check, err = checkOf(checks, row, 3)
		if err != nil {
			return err
		}
		t.types = append(t.types, id.kind)
		t.kinds[next] = id.kind
		t.learn(next, table.List(row.Cells[4]))
		next++
		for _, shape := range table.List(row.Cells[1]) {
			size := len(strings.TrimRight(shape, "?+^"))
			if size > maxIDCode {
				return row.Errorf("the shape %s is longer than %d", shape, maxIDCode)
			}
			known := t.codes[size]
			if last := len(known) - 1; last >= 0 && known[last].list == id.list {
				known[last].shapes = append(known[last].shapes, shape)
				continue
			}
			id.shapes = []string{shape}
			t.codes[size] = append(known, id)
		}
	}
	if last := len(codes) - 1; next > maxLists {
		return codes[last].Errorf("there are more than %d lists of words", maxLists)
	}
	return nil
}

// A check is the rule of a number's check digits. The zero check is that of numbers without any.
type check struct {
	name string // in checks.txt
	// rule parses the rule when it is first called, for most are never needed.
	rule func() *checkdigit.Rule
	// chance returns how many of the numbers of a shape, of which a rule passes some, it passes by
	// chance: 1 for all.
	chance func(shape string) float64
}

// newCheck returns the check of a name, whose alternatives are rows.
func newCheck(name string, alternatives []table.Row) check {
	rule := sync.OnceValue(func() *checkdigit.Rule { return must(parseCheck(alternatives)) })
	var known sync.Map
	return check{
		name: name,
		rule: rule,
		chance: func(shape string) float64 {
			chance, ok := known.Load(shape)
			if !ok {
				chance = chanceOf(rule(), shape)
				known.Store(shape, chance)
			}
			return chance.(float64)
		},
	}
}

// chanceOf tries a rule with numbers of a shape.
func chanceOf(rule *checkdigit.Rule, shape string) float64 {
	const tries = 4000
	const all = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	random := rand.New(rand.NewPCG(1, 1)) // always the same numbers
	passed := 1
	code := []byte(strings.TrimRight(shape, "?+^"))
	for range tries {
		for i := range code {
			switch shape[i] {
			case 'A':
				code[i] = all[10+random.IntN(26)]
			case '9':
				code[i] = all[random.IntN(10)]
			default:
				code[i] = all[random.IntN(36)]
			}
		}
		if rule.Holds(code) {
			passed++
		}
	}
	return float64(passed) / tries
}

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
		if all[name].rule != nil {
			return nil, rows[first].Errorf("the rows of %q do not stand together", name)
		}
		all[name] = newCheck(name, rows[first:i])
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
	if name != "" && checks[name].rule == nil {
		return check{}, row.Errorf("checks.txt has no rule %q", name)
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
		var guess guess
		if all {
			guess = f.guessNumber(known, digits)
		}
		for i := range known {
			id := &known[i]
			if !f.wanted[id.list] || id.check.rule != nil && !id.check.rule().Holds(digits) {
				continue
			}
			said := v.saidBeside(id.list, g.end)
			switch {
			case said.ok && id.check.rule != nil:
				f.addSaid(id.kind, "checked", v.start, g.end, 1, said)
			case said.ok:
				f.addSaid(id.kind, "words", v.start, g.end, .85, said)
			case guess.is(id.list, k) && !id.alone:
				f.add(id.kind, "checked", v.start, g.end, .4)
			case all && (id.whole && !guess.checks || f.named) && !id.alone:
				f.add(id.kind, "whole", v.start, g.end, .3)
			case !id.alone || v.link || v.hangs():
			case k > 1:
				f.add(id.kind, "written", v.start, g.end, .85)
			case !v.isOther():
				f.add(id.kind, "checked", v.start, g.end, .6)
			}
		}
	}
}

// How many of the numbers of a form pass a check by chance: at most passedByFew if it has a check
// digit, and at most passedByHardlyAny if what passes it is no other type's number.
const (
	passedByFew       = .15
	passedByHardlyAny = .05
)

// A guess is the type of which a number is that is all of a text, and fits some types' checks.
type guess struct {
	list   list    // its row; 0 if there is none
	check  check   // what it passes
	chance float64 // how many pass that by chance
	next   float64 // the same of the next type
	checks bool    // it fits one that has check digits
	rival  bool    // it fits one that has none, too, and is found without a word
}

// consider notes a check that the number passes.
func (g *guess) consider(l list, check check, shape string) {
	chance := check.chance(shape)
	switch {
	case chance > passedByFew || strings.HasSuffix(check.name, "-form"):
	case !g.checks:
		*g = guess{list: l, check: check, chance: chance, next: 1, checks: true, rival: g.rival}
	case check.name == g.check.name: // of the same form and check, the first is as likely
	case chance < g.chance:
		*g = guess{list: l, check: check, chance: chance, next: g.chance, checks: true, rival: g.rival}
	default:
		g.next = min(g.next, chance)
	}
}

// is tells whether the number is taken for that of a row, if it is written in k groups. Numbers
// in groups are hardly any by chance.
func (g *guess) is(l list, k int) bool {
	if !g.checks || g.list != l {
		return false
	}
	return k > 1 || g.next == 1 && !g.rival || g.chance <= passedByHardlyAny && 2*g.chance <= g.next
}

// guessNumber guesses what digits are.
func (f *finder) guessNumber(known []idNumber, digits []byte) (g guess) {
	const nines = "99999999999999999999"
	for i := range known {
		id := &known[i]
		if id.check.rule != nil && f.wanted[id.list] && id.check.rule().Holds(digits) {
			g.rival = g.rival || id.whole
			g.consider(id.list, id.check, nines[:len(digits)])
		}
	}
	return g
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
		var guess guess
		if all && !(lower && isAllHex(v.text[v.start:g.end])) {
			guess = f.guessCode(code, k)
		}
		for i := range f.codes[len(code)] {
			id := &f.codes[len(code)][i]
			if k > 1 && !id.spaced || !f.wanted[id.list] {
				continue
			}
			shape := id.shapeOf(code)
			if shape == "" {
				continue
			}
			whole := all && (f.named || !lower && id.isWhole(shape, k))
			checked := id.check.rule != nil && !id.weak
			said := v.saidBeside(id.list, g.end)
			switch {
			case id.check.rule != nil && !id.check.rule().Holds(code):
				if said.ok && said.near < 4 && !id.weak { // mistyped, or made up: it is still what it is said to be
					f.addSaid(id.kind, "words", v.start, g.end, .5, said)
				}
			case said.ok && checked:
				f.addSaid(id.kind, "checked", v.start, g.end, 1, said)
			case said.ok:
				f.addSaid(id.kind, "words", v.start, g.end, .85, said)
			case guess.is(id.list, k) && !id.alone:
				f.add(id.kind, "checked", v.start, g.end, .4)
			case v.link || v.hangs() || v.isOther():
			case (id.alone || k > 2 && checked) && !(lower && (!checked || k > 1)):
				f.add(id.kind, "written", v.start, g.end, .7)
			case whole:
				f.add(id.kind, "whole", v.start, g.end, .3)
			}
		}
	}
}

// guessCode guesses what a code is that is written in k groups.
func (f *finder) guessCode(code []byte, k int) (g guess) {
	for i := range f.codes[len(code)] {
		id := &f.codes[len(code)][i]
		if id.check.rule == nil || id.weak || k > 1 && !id.spaced || !f.wanted[id.list] {
			continue
		}
		shape := id.shapeOf(code)
		if shape != "" && id.check.rule().Holds(code) {
			g.consider(id.list, id.check, shape)
		}
	}
	return g
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

// isWhole tells whether a code of a shape, in k groups, needs no word beside it if it is all of a
// text.
func (id *idCode) isWhole(shape string, k int) bool {
	switch shape[len(shape)-1] {
	case '?':
		return true
	case '+':
		return k > 1
	case '^':
		return k > 2
	}
	return false
}

// shapeOf returns the first shape of an idCode that a code of its length has; "" if it has none.
func (id *idCode) shapeOf(code []byte) string {
next:
	for _, shape := range id.shapes {
		for i, c := range code {
			switch shape[i] {
			case 'A':
				if !isLetter(c) {
					continue next
				}
			case '9':
				if !isDigit(c) {
					continue next
				}
			}
		}
		return shape
	}
	return ""
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
		if k > 0 && g.digits == 0 || k > 0 && g.sep != '-' && !(g.sep == ' ' && g.size() == 3 && g.digits > 0) {
			break
		}
		size += g.size()
		digits += g.digits
		k++
	}
	if !f.wants("US_DRIVER_LICENSE") || size < 5 || size > 16 || digits < 4 || v.link || v.plus || v.joinedLeft() {
		return
	}
	end := v.groups[k-1].end
	if v.joinedRight(end) || v.isDated(k) {
		return
	}
	said := v.saidBeside(driverList, end)
	switch {
	case said.ok && said.near < 5:
		f.addSaid("US_DRIVER_LICENSE", "words", v.start, end, .8, said)
	case f.named && v.isAll(end):
		f.add("US_DRIVER_LICENSE", "whole", v.start, end, .3)
	}
}
