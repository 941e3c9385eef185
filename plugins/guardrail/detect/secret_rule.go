package detect

import (
	"fmt"
	"regexp"
	"strings"
)

// A SecretRule finds one more kind of secret.
type SecretRule struct {
	ID string // in the findings' Rule
	// Keywords are what the text must have for the expression to be tried, in either case, at least 3 ASCII letters, digits
	// and marks, at the beginning of a word. The expression sees what begins with the keyword.
	Keywords []string
	// Regexp is tried on the text from the keyword to the end of its line, at most 512 bytes; if Multiline, on 16 KB.
	Regexp *regexp.Regexp
	// Group is which of its groups is the secret, 0 for the whole.
	Group int
	// Entropy is what the secret must have, in bits a byte; 0 for any.
	Entropy float64
	// Validate, if not nil, has the last word on the secret.
	Validate func(secret string) bool
	// Multiline lets the secret span lines. A stream is then held back from each keyword on for up to 16 KB.
	Multiline bool
}

// SecretOptions change what the detector of secrets finds.
type SecretOptions struct {
	Rules []SecretRule // also found
	// Allow, if not nil, is asked of every secret; it is not found if Allow says yes.
	Allow func(rule, secret string) bool
}

// SecretsWith is [Secrets] with options. The error says which rule cannot be.
func SecretsWith(o SecretOptions) (Detector, error) {
	for _, r := range o.Rules {
		switch {
		case r.ID == "":
			return nil, fmt.Errorf("a rule for secrets has no ID: give it one")
		case r.Regexp == nil:
			return nil, fmt.Errorf("rule %s for secrets has no Regexp: give it one", r.ID)
		case r.Group < 0 || r.Group > r.Regexp.NumSubexp():
			return nil, fmt.Errorf("rule %s for secrets wants group %d of an expression that has %d", r.ID, r.Group, r.Regexp.NumSubexp())
		case len(r.Keywords) == 0:
			return nil, fmt.Errorf("rule %s for secrets has no Keywords: name what every such secret begins with, or stands behind", r.ID)
		}
		for _, word := range r.Keywords {
			if len(word) < 3 || len(word) > 64 || strings.ContainsFunc(word, func(c rune) bool { return c <= ' ' || c > '~' }) {
				return nil, fmt.Errorf("rule %s for secrets: keyword %q is not 3 to 64 ASCII letters, digits and marks", r.ID, word)
			}
		}
	}
	return newSecrets(o)
}

const maxLine = 512

// rule tries a rule from one of its keywords on.
func (s *scan) rule(r *SecretRule, start int) {
	if !s.begins(start) {
		return
	}
	text, most := s.text[start:], maxLine
	if r.Multiline {
		most = maxPEM
	}
	open := len(text) <= most
	text = text[:min(len(text), most)]
	if line := strings.IndexByte(text, '\n'); line >= 0 && !r.Multiline {
		text, open = text[:line], false
	}
	if open {
		s.hold(start)
	}
	at := r.Regexp.FindStringSubmatchIndex(text)
	if at == nil || at[2*r.Group] < 0 {
		return
	}
	from, to := at[2*r.Group], at[2*r.Group+1]
	secret := text[from:to]
	if secret != "" && entropy(secret) >= r.Entropy && (r.Validate == nil || r.Validate(secret)) {
		s.add(r.ID, start+from, start+to, .9)
	}
}
