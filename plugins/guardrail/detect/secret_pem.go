package detect

import "strings"

// maxPEM bounds a key; what is longer is cut.
const maxPEM = 16 << 10

const pemDashes, pemEnd = "-----", "-----END"

var (
	pemSet = readSet("A-Za-z0-9 +/=\n\r\t\\\"',:;.()<>_-")
	armour = readSet("A-Za-z0-9+/=")
)

// pem looks for a private key in the armour of RFC 7468 and OpenPGP, also inside a string of JSON or code, from its first
// line through its last. A key that is cut off is one too, as far as it goes.
func (s *scan) pem(start, end int) {
	text := s.text
	if !s.begins(start) || text[start:end] != "-----BEGIN" {
		return
	}
	label := end
	for label < len(text) && label-end < 64 && (isWord(text[label]) || text[label] == ' ') {
		label++
	}
	if label == len(text) {
		s.hold(start)
		return
	}
	if !strings.HasSuffix(text[end:label], "PRIVATE KEY") && !strings.HasSuffix(text[end:label], "PRIVATE KEY BLOCK") {
		return
	}
	n := min(len(text)-label, maxPEM)
	body := 0
	for body < n && pemSet[text[label+body]] {
		if text[label+body] == '-' && body >= len(pemDashes) && strings.HasPrefix(text[label+body:], pemDashes) {
			break
		}
		body++
	}
	stop := label + body
	if body < maxPEM && len(text)-stop < len(pemEnd) && strings.HasPrefix(pemEnd, text[stop:]) {
		s.hold(start)
	}
	if strings.HasPrefix(text[stop:], pemEnd) {
		last := stop + len(pemEnd)
		for last < len(text) && last-stop < 64 && (isWord(text[last]) || text[last] == ' ') {
			last++
		}
		dashes := last
		for dashes < len(text) && dashes-last < 5 && text[dashes] == '-' {
			dashes++
		}
		if dashes == len(text) && dashes-last < 5 {
			s.hold(start)
		}
		stop = dashes
	} else if body < n {
		for stop > label && !armour[text[stop-1]] {
			stop--
		}
	}
	if hasArmour(text[label:stop]) {
		s.add("private-key", start, stop, 1)
	}
}

// hasArmour tells whether there is a line of base64 of 40 characters, or two of 24.
func hasArmour(body string) bool {
	run, total := 0, 0
	for i := range len(body) {
		if armour[body[i]] {
			run++
			continue
		}
		if run >= 40 {
			return true
		}
		if run >= 24 {
			total += run
		}
		run = 0
	}
	return run >= 40 || total >= 48
}
