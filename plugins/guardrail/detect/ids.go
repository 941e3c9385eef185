package detect

import (
	"strings"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// The longest official numbers and codes.
const (
	maxIDDigits = 17
	maxIDCode   = 19
)

// ids are the official numbers and codes of persons, companies and vehicles, as ids.txt has them.
type ids struct {
	// numbers has the forms of digits only, by how they are written, in sizes of groups such as
	// 3-2-4. It has an empty list for each beginning of these, such as 3-2, so that reading can
	// stop early.
	numbers map[string][]idForm
	// codes has the forms with letters by how many letters and digits they have.
	codes [maxIDCode + 1][]idForm
	// kinds has the types of both by their lists of words.
	kinds [maxLists]string
}

// An idForm is a form in which the values of a type are written.
type idForm struct {
	list     list
	kind     string
	picture  string // A is a letter, 9 a digit, * either; without what stands between
	check    check
	letters  bool // it has letters
	spaced   bool // it may be written in groups, if it has letters
	groups   int  // how many groups it must be written in if no word says what it is
	anywhere bool // it needs no word
	whole    bool // it needs no word if the text has nothing else
	named    bool // it needs one even then
	// share returns which share of all values of the picture passes the check.
	share func() float64
	// values returns how many values pass it.
	values func() float64
}

// readIDs reads the official numbers and codes.
func (t *piiTables) readIDs() {
	checks := readChecks()
	rows := rowsOf("ids.txt", "type", "forms", "check", "words")
	t.numbers = make(map[string][]idForm, 3*len(rows))
	next := firstIDList - 1
	for _, row := range rows {
		// The first row of a type has its words.
		kind := row.Cells[0]
		words := table.List(row.Cells[3])
		if words != nil {
			next++
			if next == maxLists {
				row.Fail("there are more than %d lists of words", maxLists)
			}
			t.types = append(t.types, kind)
			t.kinds[next] = kind
			t.learn(next, words)
		}
		check := checks[row.Cells[2]]
		if t.kinds[next] != kind || row.Cells[2] != "" && check.rule == nil {
			row.Fail("no row above has the words of %s, or checks.txt has no rule %q", kind, row.Cells[2])
		}
		for _, form := range table.List(row.Cells[1]) {
			t.addForm(form, idForm{list: next, kind: kind, check: check})
		}
	}
}

// addForm adds a form of official numbers as the table has it, such as AA999999A~!.
func (t *piiTables) addForm(form string, id idForm) {
	form, id.named = strings.CutSuffix(form, "^")
	form, id.whole = strings.CutSuffix(form, "?")
	form, id.anywhere = strings.CutSuffix(form, "!")
	form, id.spaced = strings.CutSuffix(form, "~")
	if rest, three := strings.CutSuffix(form, "~3"); three {
		form = rest
		id.spaced = true
		id.groups = 3
	}

	// The picture without what stands between, and how it is written in digits.
	var picture, written []byte
	size := 0
	end := func() {
		if size > 9 {
			written = append(written, '0'+byte(size/10))
		}
		written = append(written, '0'+byte(size%10))
		size = 0
	}
	for _, c := range []byte(form) {
		if c == 'A' || c == '9' || c == '*' {
			picture = append(picture, c)
			id.letters = id.letters || c != '9'
			size++
			continue
		}
		end()
		if t.numbers[string(written)] == nil {
			t.numbers[string(written)] = []idForm{}
		}
		written = append(written, c)
	}
	end()
	id.picture = string(picture)
	id.share = sync.OnceValue(func() float64 { return id.check.share(id.picture) })
	id.values = sync.OnceValue(func() float64 {
		values := id.share()
		for _, c := range picture {
			switch c {
			case 'A':
				values *= 26
			case '9':
				values *= 10
			default:
				values *= 36
			}
		}
		return values
	})
	if id.letters {
		t.codes[len(picture)] = append(t.codes[len(picture)], id)
	} else {
		t.numbers[string(written)] = append(t.numbers[string(written)], id)
	}
}

// fits tells whether a code of the form's length has its letters and digits where the form has them.
func (id *idForm) fits(code []byte) bool {
	for i, c := range code {
		switch id.picture[i] {
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
}
