package detect

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// NewSecrets makes the detector anew.
func NewSecrets() Detector { return newSecrets() }

// NewPII reads all tables of personal data anew.
func NewPII() { newPIITables() }

// NewInjection reads all tables of injections anew.
func NewInjection() { newPhrases() }

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
				all = append(all,
					Form{Rule: p.token.rule, Prefix: p.token.prefix, Rest: p.token.rest})
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

// An IDForm is a form of official numbers: A is a letter, 9 a digit, * either; what stands between
// digits stands between them here, too.
type IDForm struct {
	Kind, Form string
	Rule       *checkdigit.Rule // of its check; nil if there is none
	Digits     bool             // the check is one of check digits
}

// IDForms are all forms of official numbers.
func IDForms() (all []IDForm) {
	add := func(form string, id idForm) {
		f := IDForm{Kind: id.kind, Form: form, Digits: id.check.digits()}
		if id.check.rule != nil {
			f.Rule = id.check.rule()
		}
		all = append(all, f)
	}
	for _, written := range slices.Sorted(maps.Keys(allPIITables().numbers)) {
		for _, id := range allPIITables().numbers[written] {
			form := regexp.MustCompile(`\d+`).
				ReplaceAllStringFunc(written, func(size string) string {
					n, _ := strconv.Atoi(size)
					return strings.Repeat("9", n)
				})
			add(form, id)
		}
	}
	for _, codes := range allPIITables().codes {
		for _, id := range codes {
			add(id.picture, id)
		}
	}
	return all
}

// IDWords are the words and phrases of official numbers, by type. One with ^ before it counts only
// right beside a number.
func IDWords() map[string][]string {
	all := map[string][]string{}
	for _, row := range rowsOf("ids.txt", "type", "forms", "check", "words") {
		all[row.Cells[0]] = append(all[row.Cells[0]], table.List(row.Cells[3])...)
	}
	return all
}

// LastWords are the words that names of secrets end in.
func LastWords() (all []string) {
	for word, says := range defaultSecrets().words {
		if says&(keyWord|secretWord|passwordWord|passWord|loginWord) != 0 {
			all = append(all, word)
		}
	}
	return all
}
