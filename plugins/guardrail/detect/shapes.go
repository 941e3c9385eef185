package detect

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// A shape is a form by which numbers or codes of a type are known: a row of shapes.txt.
type shape struct {
	kind, rule string
	form       pattern.Pattern
	check      func(code string) bool // nil if there is none
	score      float64
}

// shapeChecks are the checks by the names that shapes.txt has for them.
var shapeChecks = map[string]func(code string) bool{
	"base58": isBase58Check,
	"mixed":  func(code string) bool { return letterSet.HasAny(code) && digitSet.HasAny(code) },
}

// readShapes reads the forms.
func (t *piiTables) readShapes() {
	for _, row := range rowsOf("shapes.txt", "type", "rule", "form", "check", "score") {
		score, err := strconv.ParseFloat(row.Cells[4], 64)
		s := shape{
			kind:  row.Cells[0],
			rule:  row.Cells[1],
			form:  pattern.MustParse(row.Cells[2]),
			check: shapeChecks[row.Cells[3]],
			score: score,
		}
		if err != nil || s.check == nil && row.Cells[3] != "" {
			row.Fail("%q is no score, or there is no check %q", row.Cells[4], row.Cells[3])
		}
		t.shapes = append(t.shapes, s)
		t.types = append(t.types, s.kind)
	}
}

// shaped finds what has one of the forms, and is no part of a longer code.
func (f *finder) shaped(v *numeral) {
	if isCodeSeparator(v.back(v.start, 1)) && isAlnum(v.back(v.start, 2)) && !v.link {
		return
	}
	for i := range f.shapes {
		s := &f.shapes[i]
		m := s.form.Match(v.text, v.start)
		v.past = v.past || m.Open
		if m.OK && (s.check == nil || s.check(v.text[v.start:m.End])) &&
			!(isCodeSeparator(v.peek(m.End)) && isAlnum(v.peek(m.End+1))) {
			f.add(s.kind, s.rule, v.start, m.End, s.score)
		}
	}
}

// isBase58Check tells whether a word is 21 bytes in base 58 with the beginning of their double
// SHA-256 behind.
func isBase58Check(word string) bool {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	var raw [25]byte
	for i := range len(word) {
		carry := strings.IndexByte(alphabet, word[i])
		if carry < 0 {
			return false
		}
		for j := len(raw) - 1; j >= 0; j-- {
			carry += 58 * int(raw[j])
			raw[j] = byte(carry)
			carry >>= 8
		}
		if carry > 0 {
			return false
		}
	}
	sum := sha256.Sum256(raw[:21])
	sum = sha256.Sum256(sum[:])
	return string(sum[:4]) == string(raw[21:])
}
