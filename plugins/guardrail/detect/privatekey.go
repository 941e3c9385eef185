package detect

import (
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// maxPEM bounds a key; what is longer is cut.
const maxPEM = 16 << 10

// How a key's last line begins, and how many hyphens end a line.
const (
	pemEnd    = "-----END"
	pemDashes = "-----"
)

var (
	// pemSet has the bytes that may be in a key, also inside a string; armourSet those of its
	// base64.
	pemSet    = pattern.MustSet("A-Za-z0-9 +/=\n\r\t\\\"',:;.()<>_-")
	armourSet = pattern.MustSet("A-Za-z0-9+/=")
	labelSet  = pattern.MustSet("A-Za-z0-9_ ")
	dashSet   = pattern.MustSet("-")
)

// pem looks for a private key in the armour of RFC 7468 and OpenPGP, also inside a string of JSON
// or code, from its first line through its last. A key that is cut off is one too, as far as it
// goes.
func (s *scan) pem(start, end int) {
	text := s.text
	if !s.begins(start) || text[start:end] != "-----BEGIN" {
		return
	}

	// What it is.
	label := labelSet.Run(text, end, 64)
	if label == len(text) {
		s.hold(start)
		return
	}
	kind := text[end:label]
	if !strings.HasSuffix(kind, "PRIVATE KEY") && !strings.HasSuffix(kind, "PRIVATE KEY BLOCK") {
		return
	}

	// Its body.
	n := min(len(text)-label, maxPEM)
	body := 0
	for body < n && pemSet[text[label+body]] {
		if text[label+body] == '-' && body >= len(pemDashes) &&
			strings.HasPrefix(text[label+body:], pemDashes) {
			break
		}
		body++
	}
	stop := label + body
	s.isLong(start, stop)
	if body < maxPEM && len(text)-stop < len(pemEnd) && strings.HasPrefix(pemEnd, text[stop:]) {
		s.hold(start)
	}

	// Its last line, if there is one.
	if strings.HasPrefix(text[stop:], pemEnd) {
		last := labelSet.Run(text, stop+len(pemEnd), 64)
		dashes := dashSet.Run(text, last, len(pemDashes))
		if dashes == len(text) && dashes-last < 5 {
			s.hold(start)
		}
		stop = dashes
	} else if body < n {
		stop = armourEnd(text, label, stop)
	}
	if hasArmour(text[label:stop]) {
		s.add("private-key", start, stop, 1)
	}
}

// armourEnd returns where the base64 in a part of a text ends.
func armourEnd(text string, start, end int) int {
	for end > start && !armourSet[text[end-1]] {
		end--
	}
	return end
}

// hasArmour tells whether there is a line of base64 of 40 characters, or two of 24.
func hasArmour(body string) bool {
	total := 0
	for len(body) > 0 {
		run := armourSet.Run(body, 0, len(body))
		if run >= 40 {
			return true
		}
		if run >= 24 {
			total += run
		}
		body = body[min(run+1, len(body)):]
	}
	return total >= 48
}
