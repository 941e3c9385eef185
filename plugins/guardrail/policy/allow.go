package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/links"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
)

// exceptions are findings that pass: what a rule's key allow says, or the policy's, which is about every
// rule. They are about what a detector has found, and about nothing beside it.
type exceptions struct {
	values   map[string]bool // in each of their normal forms
	domains  *links.List
	patterns []*regexp.Regexp
}

// The normal forms in which values are compared. Each begins with a mark of its own.
const (
	exactForm  = "=" // NFKC: for secrets, in which each character counts
	textForm   = "~" // and in small letters, with single blanks: for addresses, dates and words
	signsForm  = "#" // and only letters and digits: for numbers, which are written with all kinds of signs
	dialedForm = "0" // of a telephone number, as it is dialled within its country
)

// otherForms are types of personal data that are not compared by their letters and digits alone.
var otherForms = map[string]string{
	"SECRET": exactForm, "CRYPTO": exactForm,
	"EMAIL_ADDRESS": textForm, "IP_ADDRESS": textForm, "URL": textForm, "DATE_TIME": textForm, "DATE_OF_BIRTH": textForm,
}

// formOf returns the form in which findings of a type are compared.
func formOf(kind string) string {
	if f, ok := otherForms[kind]; ok {
		return f
	}
	if slices.Contains(piiTypes(), kind) {
		return signsForm
	}
	return textForm
}

var piiTypes = sync.OnceValue(detect.PIITypes)

// normal returns a value in a form, with the form's mark before it.
func normal(form, value string) string {
	value = strings.TrimSpace(norm.NFKC.String(value))
	switch form {
	case exactForm:
		return form + value
	case textForm:
		return form + strings.Join(strings.Fields(cases.Fold().String(value)), " ")
	}
	return form + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, withoutDialing(cases.Fold().String(value)))
}

// withoutDialing returns a number without what is dialled before a country's code, 00, and without the 0 in
// parentheses that is dialled within the country only.
func withoutDialing(number string) string {
	number = strings.TrimPrefix(number, "00")
	return strings.Replace(number, "(0)", "", 1)
}

// dialed returns a telephone number without its country's code, in dialedForm, as others may write it: "" if
// it is not written with a code.
func dialed(value string) string {
	if !isAbroad(value) {
		return ""
	}
	digits := strings.TrimPrefix(normal(signsForm, value), signsForm)
	code := 3
	switch {
	case digits == "":
		return ""
	case digits[0] == '1' || digits[0] == '7':
		code = 1
	case len(digits) > 2 && strings.Contains(twoDigitCodes, " "+digits[:2]+" "):
		code = 2
	}
	if len(digits) < code+7 { // shorter ones are dialled within an area
		return ""
	}
	return dialedForm + digits[code:]
}

// twoDigitCodes are the codes of countries that have two digits.
const twoDigitCodes = " 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58" +
	" 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98 "

// isAbroad reports whether a telephone number is written with a country's code.
func isAbroad(number string) bool {
	number = strings.TrimSpace(norm.NFKC.String(number))
	return strings.HasPrefix(number, "+") || strings.HasPrefix(number, "00")
}

// of returns which exception lets a hit pass, "" if none does.
func (e *exceptions) of(h *hit) string {
	if e == nil {
		return ""
	}
	form := formOf(h.Type)
	is := normal(form, h.value)
	within := form == signsForm && strings.Contains(h.Type, "PHONE") && !isAbroad(h.value)
	switch {
	case e.values[is], within && e.values[dialedForm+strings.TrimPrefix(is[1:], "0")]:
		return "values"
	case e.domains != nil && h.view == view.RawView && h.inDomain(e.domains): // a disguise may be part of the address
		return "domains"
	}
	for _, p := range e.patterns {
		if p.MatchString(is[1:]) || p.MatchString(normal(exactForm, h.value)[1:]) {
			return "patterns"
		}
	}
	return ""
}

// inDomain reports whether a hit is an address of one of these domains.
func (h *hit) inDomain(domains *links.List) bool {
	switch h.Type {
	case "EMAIL_ADDRESS":
		return domains.Check("mailto:"+h.value) == nil
	case "URL":
		return domains.Check(h.value) == nil
	}
	return false
}

// exceptions reads the exceptions at a path into those that were read before; nil is none.
func (r *reader) exceptions(path string, f *form.Allow, into *exceptions) *exceptions {
	if !r.Has(path) {
		return into
	}
	if into == nil {
		into = &exceptions{values: map[string]bool{}}
	}
	if len(f.Values)+len(f.Domains)+len(f.Patterns) == 0 {
		r.bad(path, "allow: says nothing; write values:, domains: or patterns:, or leave it out")
	}
	for _, v := range r.located(path+".values", f.Values) {
		if normal(signsForm, v.text) == signsForm {
			r.badText(v, "%q has no letter and no digit, so no finding is equal to it", v.text)
		}
		for _, form := range []string{exactForm, textForm, signsForm} {
			into.values[normal(form, v.text)] = true
		}
		if within := dialed(v.text); within != "" {
			into.values[within] = true
		}
	}
	var domains []string
	for _, v := range r.located(path+".domains", f.Domains) {
		if _, err := links.New([]string{v.text}, nil); err != nil || v.text == "*" {
			r.badText(v, "%q is no domain; write corp.example, or *.corp.example for what is below it", v.text)
			continue
		}
		domains = append(domains, v.text)
	}
	if domains != nil {
		into.domains, _ = links.New(domains, []string{"https", "http", "mailto"}) // each was read once
	}
	for _, v := range r.located(path+".patterns", f.Patterns) {
		p, err := regexp.Compile("^(?:" + v.text + ")$")
		switch {
		case err != nil:
			r.badText(v, "%w", err)
		case p.MatchString(""):
			r.badText(v, "%q matches the empty text; a pattern is about all of a finding", v.text)
		default:
			into.patterns = append(into.patterns, p)
		}
	}
	return into
}

// A listed is a text of a policy, and where it stands: FILE:LINE:COLUMN.
type listed struct{ text, at string }

// badText notes what is wrong with a text.
func (r *reader) badText(l listed, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", l.at, fmt.Errorf(format, args...)))
}
