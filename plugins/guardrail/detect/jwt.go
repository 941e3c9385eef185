package detect

import (
	"bytes"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// maxJWT bounds a part of a token; what is longer is cut.
const maxJWT = 16 << 10

// base64Set has the bytes of base64 in either alphabet.
var base64Set = pattern.MustSet("A-Za-z0-9_/+-")

// run64 returns where a run of base64 ends.
func run64(text string, from int) int { return base64Set.Run(text, from, maxJWT) }

// jwt looks for a JSON Web Token (RFC 7519): three parts in base64url, of which the first two are
// JSON objects; the third is empty in an unsigned one. One of encrypted form (RFC 7516) has five.
func (s *scan) jwt(start, _ int) {
	if !s.begins(start) || start > 0 && s.text[start-1] == '-' {
		return
	}
	head := run64(s.text, start)
	s.isLong(start, head)
	if head == len(s.text) {
		s.hold(start)
		return
	}
	if s.text[head] != '.' || !isHeader(s.text[start:head]) {
		return
	}
	end := head
	parts := 1
	for parts < 5 && end < len(s.text) && s.text[end] == '.' {
		part := run64(s.text, end+1)
		if parts == 1 && part < end+8 && part < len(s.text) {
			return
		}
		end = part
		parts++
	}
	s.isLong(start, end)
	if end == len(s.text) {
		s.hold(start)
	}
	if parts >= 3 {
		s.add("jwt", start, end, 1)
	}
}

// isHeader tells whether base64url is the header of a JSON Web Token: an object with names that
// headers have.
func isHeader(part string) bool {
	if len(part) > 4<<10 {
		return false
	}
	var room [3 << 10]byte
	json := bytes.TrimSpace(decode64(room[:0], part))
	if len(json) < 8 || json[0] != '{' || json[len(json)-1] != '}' {
		return false
	}
	for _, name := range [...]string{`"alg"`, `"typ"`, `"enc"`, `"kid"`, `"cty"`, `"jku"`, `"jwk"`, `"x5`} {
		if bytes.Contains(json, []byte(name)) {
			return true
		}
	}
	return false
}

// decode64 appends what a text in base64 stands for, as far as it is base64. It takes either
// alphabet, with padding or not.
func decode64[T string | []byte](to []byte, text T) []byte {
	bits := 0
	waiting := 0 // how many of the bits are not in to
	for i := range len(text) {
		digit := digits64[text[i]]
		if digit == 0 {
			break
		}
		bits = bits<<6 | int(digit-1)
		waiting += 6
		if waiting >= 8 {
			waiting -= 8
			to = append(to, byte(bits>>waiting))
		}
	}
	return to
}

// digits64 has one more than the value of each digit of base64, and 0 for other bytes.
var digits64 = func() (values [256]byte) {
	for value, digit := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		values[digit] = byte(value + 1)
	}
	values['-'] = values['+']
	values['_'] = values['/']
	return values
}()
