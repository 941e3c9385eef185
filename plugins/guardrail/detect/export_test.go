package detect

import (
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// NewSecrets makes the detector anew.
func NewSecrets() (Detector, error) { return newSecrets() }

// NewPII reads all tables of personal data anew.
func NewPII() error {
	_, err := newPIITables()
	return err
}

// NewInjection reads all tables of injections anew.
func NewInjection() error {
	_, err := newPhrases()
	return err
}

// DataFiles are the files that the detectors are made of.
var DataFiles = dataFiles

// A Form is what a token of the table looks like: a prefix, and a pattern.
type Form struct {
	Rule, Prefix string
	Rest         pattern.Pattern
}

// Forms is the table of tokens.
func Forms() (all []Form) {
	for _, t := range defaultSecrets().tokens {
		all = append(all, Form{Rule: t.rule, Prefix: t.prefix, Rest: t.rest})
	}
	return all
}

// Names are the names of providers, and the words that names of secrets have.
func Names() (all []string) {
	for _, p := range defaultSecrets().providers {
		all = append(all, p.name)
	}
	return append(all, defaultSecrets().keywordsOfNames...)
}

// EachCheck calls yield with each rule of a check digit, and a shape of the numbers that it is
// for: A is a letter, 9 a digit, * either.
func EachCheck(yield func(kind string, rule *checkdigit.Rule, shape string)) {
	each := func(forms []idForm) {
		for _, id := range forms {
			if id.check.rule != nil {
				yield(id.kind, id.check.rule(), id.picture)
			}
		}
	}
	for _, forms := range allPIITables().numbers {
		each(forms)
	}
	for _, forms := range allPIITables().codes {
		each(forms)
	}
}
