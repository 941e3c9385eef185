package agenthooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JCS is the name of the identity provider that every host has: SHA-256 over the canonical JSON of RFC 8785.
const JCS = "jcs-sha256"

// Identity returns the identity of a context by JCS. It is that of the members which the specification requires at the
// context's point, and no others. It returns an error for values that canonical JSON would change or has no form for:
// whole numbers beyond 2^53-1, numbers that no float64 is, more than 128 levels.
func Identity(c Context) (string, error) {
	m, err := parse(c)
	if err != nil {
		return "", err
	}
	if err := errors.Join(m.check(), checkDepth(c)); err != nil {
		return "", err
	}
	canonical, err := m.canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// canonical returns the canonical JSON of what the specification requires of a context.
func (m members) canonical() (jsontext.Value, error) {
	required := map[string]jsontext.Value{
		"interception_point": m["interception_point"],
		"target":             m["target"],
	}
	for _, list := range []map[string]*schema{core, shapes[m.point()].fields} {
		for name, s := range list {
			v, err := s.project(m[name])
			if err != nil {
				return nil, err
			}
			required[name] = v
		}
	}
	data, err := json.Marshal(required)
	if err != nil {
		return nil, errors.New("the context is not JSON, or has text that is not Unicode")
	}
	if err := checkDomain(data); err != nil {
		return nil, err
	}
	v := jsontext.Value(data)
	if err := v.Canonicalize(); err != nil {
		return nil, errors.New("the context has no canonical form")
	}
	return v, nil
}

// project returns a value without the members that are not required of it.
func (s *schema) project(v jsontext.Value) (jsontext.Value, error) {
	if s.fields == nil {
		return v, nil
	}
	var all map[string]jsontext.Value
	if err := json.Unmarshal(v, &all); err != nil {
		return nil, err
	}
	kept := map[string]jsontext.Value{}
	for name := range s.fields {
		kept[name] = all[name]
	}
	return json.Marshal(kept)
}

// maxInteger is the greatest whole number that every reader of JSON keeps.
const maxInteger = 1<<53 - 1

// checkDomain returns an error if a value has something that canonical JSON does not keep.
func checkDomain(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.ReadToken()
		switch {
		case err != nil && d.StackDepth() == 0 && d.InputOffset() >= int64(len(bytes.TrimRight(data, " \n\r\t"))):
			return nil
		case err != nil:
			return errors.New("the context is not JSON, or has text that is not Unicode")
		case token.Kind() != '0':
			continue
		}
		n := token.String()
		f, err := strconv.ParseFloat(n, 64)
		switch {
		case err != nil || math.IsInf(f, 0):
			return errors.New("a number is too large for a float64")
		case !strings.ContainsAny(n, ".eE") && !smallInteger(n):
			return errors.New("an integer exceeds 2^53-1; encode 64-bit identifiers as strings")
		}
	}
}

func smallInteger(n string) bool {
	i, err := strconv.ParseInt(n, 10, 64)
	return err == nil && -maxInteger <= i && i <= maxInteger
}
