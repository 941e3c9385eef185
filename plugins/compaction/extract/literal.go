package extract

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind is what a value looks like: how exact it must be for a later call, and whether it explains itself.
type kind int

const (
	phrase kind = iota // prose: needed by nobody literally
	number             // 12, 3.5
	clock              // 06:00:00
	choice             // economy, one_way, true: a word that a program chose
	name               // Mia, Sunset Drive
	date               // 2024-05-20
	ident              // HAT069, mia_li_3668, a@b.org, https://…
)

// worth of the kinds: see the package comment.
var worth = [...]float64{phrase: 0.05, number: 0.15, clock: 0.12, choice: 0.3, name: 0.5, date: 0.8, ident: 1}

var (
	dates  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([T ]\S+)?$|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$`)
	clocks = regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2})?(\+\d)?$`)
	nums   = regexp.MustCompile(`^[-+]?[$€£]?\d[\d,.]*%?$`)
)

func kindOf(v string) kind {
	switch {
	case dates.MatchString(v):
		return date
	case clocks.MatchString(v):
		return clock
	case nums.MatchString(v):
		if digits := strings.Map(onlyDigits, v); len(digits) >= 5 && digits == v {
			return ident // a number nobody counts with
		}
		return number
	}
	blanks := strings.Count(v, " ")
	var digit, lower, upper bool
	for _, r := range v {
		digit = digit || unicode.IsDigit(r)
		lower = lower || unicode.IsLower(r)
		upper = upper || unicode.IsUpper(r)
	}
	switch {
	case blanks > 5 || utf8.RuneCountInString(v) > 80:
		return phrase
	case blanks == 0 && (strings.ContainsAny(v, "@/") && len(v) > 4 || digit && (lower || upper) || upper && !lower && len(v) > 4):
		return ident
	case blanks == 0 && !upper:
		return choice
	case upper && blanks <= 4:
		return name
	}
	return phrase
}

func onlyDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// literals are the exact values in a text: identifiers, dates, amounts, numbers of some length.
func literals(text string) (found []string) {
	for f := range strings.FieldsSeq(text) {
		f = strings.Trim(f, "\"'`“”‘’()[]{}<>*_.,;:!?")
		f = strings.TrimSuffix(strings.TrimSuffix(f, "'s"), "’s")
		if len(f) < 3 || len(f) > 120 {
			continue
		}
		switch kindOf(f) {
		case ident, date:
			if strings.ContainsAny(f, "0123456789@") || strings.Contains(f, "://") {
				found = append(found, f)
			}
		case number:
			if len(f) >= 3 {
				found = append(found, f)
			}
		}
	}
	return found
}
