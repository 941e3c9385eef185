package detect

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// PII returns a detector of personal data that have a form: numbers with check digits, addresses of the net, telephone
// numbers, dates; without types, of all of [PIITypes]. The names are Microsoft Presidio's, and in their manner where it
// has none. Names of people, places and organizations (PERSON, LOCATION, NRP, ORGANIZATION) have no form: they need a
// model, and are refused here like other types that are not known.
//
// Which other types are asked for does not change what is found of a type: where two findings would overlap, the surer
// wins, then the longer, then the earlier, also if it is not asked for. Only a URL is not given up for a part of it
// that is not asked for.
//
// A number whose form has no check digit, or one that many numbers pass by chance, counts only if a word says what it
// is (in one of some twenty languages, as a whole word, among the last nine before it and on no earlier paragraph).
func PII(types ...string) (Detector, error) {
	known := PIITypes()
	p := &pii{tables: piiTables()}
	for _, t := range types {
		if !slices.Contains(known, t) {
			return nil, fmt.Errorf("no detector finds the type %s; those there are: %s", t, strings.Join(known, ", "))
		}
		if p.only == nil {
			p.only = map[string]bool{}
		}
		p.only[t] = true
	}
	return p, nil
}

var piiTables = sync.OnceValue(newTables)

// PIITypes returns the types that PII finds, in alphabetical order.
func PIITypes() []string {
	types := []string{"CREDIT_CARD", "CRYPTO", "DATE_OF_BIRTH", "DATE_TIME", "EMAIL_ADDRESS", "IBAN_CODE", "IP_ADDRESS", "MAC_ADDRESS", "PHONE_NUMBER", "URL", "US_DRIVER_LICENSE"}
	for i := range idNumbers {
		types = append(types, idNumbers[i].kind)
	}
	for i := range idCodes {
		types = append(types, idCodes[i].kind)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

type pii struct {
	only map[string]bool // nil for all
	*tables
}

func (p *pii) Find(found []Finding, text string) []Finding {
	f := finder{pii: p, out: found}
	f.scan(text, false)
	return f.out
}

func (p *pii) Open(text string) int {
	f := finder{pii: p, quiet: true}
	return f.scan(text, true)
}

// A finder is one pass over a text. What it has found waits until nothing that begins later can overlap it.
type finder struct {
	*pii
	out     []Finding
	quiet   bool // only where the text is open is of interest
	waiting [16]Finding
	n       int
	until   int // where the last of those waiting ends
	closed  int // where the last finding given out, of whatever type, ends
}

// add has a finding wait. If too many overlap one another, those there are decided first.
func (f *finder) add(kind, rule string, start, end int, score float64) {
	if f.n == len(f.waiting) {
		f.decide()
	}
	if start >= f.closed {
		f.waiting[f.n] = Finding{kind, rule, start, end, score}
		f.n++
		f.until = max(f.until, end)
	}
}

// decide gives out those of the waiting findings that no better one overlaps.
func (f *finder) decide() {
	if f.n == 0 {
		return
	}
	w := f.waiting[:f.n]
	f.n = 0
	slices.SortFunc(w, func(a, b Finding) int {
		switch {
		case a.Score != b.Score && a.Score > b.Score:
			return -1
		case a.Score != b.Score:
			return 1
		case a.End-a.Start != b.End-b.Start:
			return b.End - b.Start - a.End + a.Start
		case a.Start != b.Start:
			return a.Start - b.Start
		}
		return strings.Compare(a.Type, b.Type)
	})
	kept := 0
	for _, a := range w {
		free := true
		for _, b := range w[:kept] {
			if a.Start < b.End && b.Start < a.End && (a.Type != "URL" || f.wants(b.Type)) {
				free = false
			}
		}
		if free {
			w[kept] = a
			kept++
		}
	}
	w = w[:kept]
	slices.SortFunc(w, func(a, b Finding) int { return a.Start - b.Start })
	for _, a := range w {
		f.closed = max(f.closed, a.End)
		if !f.quiet && f.wants(a.Type) {
			f.out = append(f.out, a)
		}
	}
}

func (f *finder) wants(kind string) bool { return f.only == nil || f.only[kind] }
