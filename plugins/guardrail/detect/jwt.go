package detect

import (
	"bytes"
	"encoding/base64"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// maxJWT bounds a part of a token; what is longer is cut.
const maxJWT = 16 << 10

// base64Set are the bytes of base64 in either alphabet.
var base64Set = pattern.MustSet("A-Za-z0-9_/+-")

// run64 returns where a run of base64 ends.
func run64(text string, at int) int {
	end := at
	for end < len(text) && end-at < maxJWT && base64Set[text[end]] {
		end++
	}
	return end
}

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

// jwtTwice looks for a JSON Web Token that was encoded in base64 once more, as in Kubernetes
// secrets.
func (s *scan) jwtTwice(start, _ int) {
	if !s.begins(start) {
		return
	}
	end := run64(s.text, start)
	for n := 0; n < 2 && end < len(s.text) && s.text[end] == '='; n++ {
		end++
	}
	s.isLong(start, end)
	if end == len(s.text) {
		s.hold(start)
	}
	if end-start < 80 {
		return
	}
	var room [6 << 10]byte
	plain := decode64(room[:0], s.text[start:min(end, start+8<<10)])
	head, rest, ok := bytes.Cut(plain, []byte("."))
	if ok && bytes.HasPrefix(rest, []byte("eyJ")) && isObject(head) {
		s.add("jwt-base64", start, end, 1)
	}
}

// isObject tells whether base64url is a JSON object, by its ends.
func isObject(part []byte) bool {
	if len(part) > 4<<10 {
		return false
	}
	var room [3 << 10]byte
	json := decode64(room[:0], part)
	return len(json) > 4 && json[0] == '{' && json[1] == '"' && json[len(json)-1] == '}'
}

// decode64 appends what a text in base64 stands for, as far as it is base64. It takes either
// alphabet, with padding or not.
func decode64[T string | []byte](to []byte, text T) []byte {
	var code [4]byte
	var three [3]byte
	n := 0
	for i := range len(text) {
		c := text[i]
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		if c == '=' {
			break
		}
		code[n] = c
		n++
		if n < 4 {
			continue
		}
		n = 0
		m, err := base64.StdEncoding.Decode(three[:], code[:])
		if err != nil {
			return to
		}
		to = append(to, three[:m]...)
	}
	if n >= 2 {
		m, err := base64.RawStdEncoding.Decode(three[:], code[:n])
		if err == nil {
			to = append(to, three[:m]...)
		}
	}
	return to
}
