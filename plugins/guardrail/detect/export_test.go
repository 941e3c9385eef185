package detect

import (
	"strconv"
	"strings"

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
	for _, probes := range defaultSecrets().probes {
		for _, p := range probes {
			if p.token != nil {
				all = append(all, Form{Rule: p.token.rule, Prefix: p.token.prefix, Rest: p.token.rest})
			}
		}
	}
	return all
}

// Names are the names of providers, and the words that names of secrets have.
func Names() (all []string) {
	for _, probes := range defaultSecrets().probes {
		for _, p := range probes {
			if p.provider != nil {
				all = append(all, p.provider.name)
			}
		}
	}
	return append(all, defaultSecrets().keywordsOfNames...)
}

// EachCheck calls yield with each rule of a check digit, and a shape of the numbers that it is
// for: A is a letter, 9 a digit, * either.
func EachCheck(yield func(kind string, rule *checkdigit.Rule, shape string)) {
	for form, numbers := range allPIITables().numbers {
		shape := ""
		for group := range strings.FieldsFuncSeq(form, func(r rune) bool { return r < '0' || r > '9' }) {
			size, _ := strconv.Atoi(group)
			shape += strings.Repeat("9", size)
		}
		for _, id := range numbers {
			if id.check.rule != nil {
				yield(id.kind, id.check.rule(), shape)
			}
		}
	}
	for _, codes := range allPIITables().codes {
		for _, id := range codes {
			for _, shape := range id.shapes {
				if id.check.rule != nil {
					yield(id.kind, id.check.rule(), strings.TrimRight(shape, "?+^"))
				}
			}
		}
	}
}

// LastWords are the words that names of secrets end in.
func LastWords() (all []string) {
	for word, says := range defaultSecrets().last {
		if says.means != ordinary {
			all = append(all, word)
		}
	}
	return all
}
