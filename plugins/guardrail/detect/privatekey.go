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
	label := end
	for label < len(text) && label-end < 64 && (isWord(text[label]) || text[label] == ' ') {
		label++
	}
	if label == len(text) {
		s.hold(start)
		return
	}
	what := text[end:label]
	if !strings.HasSuffix(what, "PRIVATE KEY") && !strings.HasSuffix(what, "PRIVATE KEY BLOCK") {
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
		for stop > label && !armourSet[text[stop-1]] {
			stop--
		}
	}
	if hasArmour(text[label:stop]) {
		s.add("private-key", start, stop, 1)
	}
}

// der looks for a private key without its first line: its beginning in DER, or in OpenSSH's form, is
// known.
func (s *scan) der(start, end int) {
	text := s.text
	if !s.begins(start) || strings.HasSuffix(strings.TrimRight(text[:start], "\r\n\\nr "), pemDashes) {
		return
	}
	switch text[start:end] {
	case "MII":
		// A sequence, its length, and the version 0 or 1: certificates have another sequence there.
		const known = 12
		if len(text)-start < known {
			s.hold(start)
			return
		}
		var room [known]byte
		bytes := decode64(room[:0], text[start:start+known])
		if len(bytes) < 7 || bytes[4] != 2 || bytes[5] != 1 || bytes[6] > 1 {
			return
		}
	case "MHcCAQEE", "MC4CAQAw", "b3BlbnNzaC1rZXktdjE":
	default: // in other letters
		return
	}
	stop := start
	for stop < len(text) && stop-start < maxPEM &&
		(armourSet[text[stop]] || strings.IndexByte(" \t\r\n\\", text[stop]) >= 0) {
		if text[stop] == ' ' && text[stop-1] != '\n' && text[stop-1] != ' ' {
			break
		}
		stop++
	}
	s.isLong(start, stop)
	if stop == len(text) && stop-start < maxPEM {
		s.hold(start)
	}
	for stop > start && !armourSet[text[stop-1]] {
		stop--
	}
	if hasArmour(text[start:stop]) {
		s.add("private-key", start, stop, .9)
	}
}

// hasArmour tells whether there is a line of base64 of 40 characters, or two of 24.
func hasArmour(body string) bool {
	run := 0
	total := 0
	for i := range len(body) {
		if armourSet[body[i]] {
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

// putty looks for the private part of a PuTTY key: its lines of base64, behind their number.
func (s *scan) putty(_, at int) {
	text := s.text
	i := at
	for i < len(text) && i-at < 8 && (text[i] == ' ' || isDigit(text[i])) {
		i++
	}
	start := i
	for start < len(text) && start-i < 4 && strings.IndexByte("\r\n\\nr", text[start]) >= 0 {
		start++
	}
	end := start
	for end < len(text) && end-start < maxPEM &&
		(armourSet[text[end]] || strings.IndexByte("\r\n\\", text[end]) >= 0) {
		end++
	}
	s.isLong(at, end)
	if end == len(text) {
		s.hold(start)
	} else if text[end] == '-' { // Private-MAC: its first word is base64, too
		end = start + len(strings.TrimSuffix(text[start:end], "Private"))
	}
	for end > start && !armourSet[text[end-1]] {
		end--
	}
	if start > i && end > start && hasArmour(text[start:end]) {
		s.add("private-key", start, end, 1)
	}
}
