package detect

import (
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// A provider is a name, and the forms of the secrets that the provider gives out without a prefix
// of their own. They are found where they are assigned to a name that has the provider's in it.
type provider struct {
	name   string
	rule   string
	values []pattern.Pattern
	named  bool // the name must say that the value is a secret, too
}

// readProviders reads the names of providers and the forms of their secrets.
func readProviders(parser *pattern.Parser) (providers []provider) {
	for _, row := range rowsOf("providers.txt", "names", "forms") {
		values := formsOf(parser, row, 1)
		for name := range strings.FieldsSeq(row.Cells[0]) {
			name, named := strings.CutPrefix(name, "!")
			providers = append(providers, provider{
				name:   name,
				rule:   name + "-secret",
				values: values,
				named:  named,
			})
		}
	}
	return providers
}

// provider looks at the value that is assigned to a name with a provider's name in it.
func (s *scan) provider(p *provider, start, end int) {
	text := s.text
	if !s.isNameIn(text, start, end) {
		return
	}
	a, ok := s.english(s.nameAround(start, end), end)
	if !ok || a.loose { // a form says too little without an operator: heroku <uuid>, drone <md5>
		return
	}

	// What the name says.
	word, rest := lastWord(a.name)
	if word != "" && (isDigit(word[0]) || strings.EqualFold(word, "id")) { // sha256, project_id
		word, _ = lastWord(rest)
	}
	if s.isNever(word) || p.named && s.meaningOf(a.name) == ordinary {
		return
	}
	if a.open {
		s.hold(a.start)
	}

	// What the value looks like.
	value := text[a.start:a.end]
	// a task, a page, a guild
	if isNumber(value) && s.meaningOf(a.name) == ordinary && !saysClient(a.name) {
		return
	}
	if (a.spoken && !a.quoted || a.listed) && len(value) < 20 {
		return
	}
	for _, form := range p.values {
		if form.MatchAll(value) {
			if s.isDrawn(value, leastEntropy(value)) && !isWords(value) && !s.isPublicName(a.name) {
				s.add(p.rule, a.start, a.end, .7)
			}
			return
		}
	}
}

// isNameIn tells whether a provider's name, which is text[start:end], is no part of another word.
func (l *lexicon) isNameIn(text string, start, end int) bool {
	return !goesOnFromWord(text, start) &&
		(end == len(text) || !goesOnFromWord(text, end) || l.goesOnAsSecret(text[end:]))
}

// leastEntropy is what the value of a provider must have, in bits a byte, by its length.
func leastEntropy(value string) float64 {
	switch {
	case len(value) < 16:
		return 2.2
	case len(value) < 24:
		return 2.4
	}
	return 2.8
}

// saysClient tells whether a name is of a client or an application, which identify themselves by
// numbers with some providers.
func saysClient(name string) bool {
	return mentions(name, []string{"client", "app"})
}
