package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// scanned is a line that policy scan reads.
type scanned struct {
	id    jsontext.Value
	text  string
	stage policy.Stage
}

var errNoJSON = errors.New(`this is not JSON; write an object on one line: {"text": "…"}`)

// scannedLine reads a line. What its other keys have does not matter: programs write all kinds of
// things beside a text. Its error does not quote the line.
func scannedLine(line []byte) (s scanned, err error) {
	in := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	var seen []string
	switch t, err := in.ReadToken(); {
	case err != nil:
		return s, errNoJSON
	case t.Kind() != '{':
		return s, fmt.Errorf(`this is %s; write an object: {"text": "…"}`, kindName(t.Kind()))
	}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			return s, errNoJSON
		}
		key := name.String()
		switch key {
		case "id":
			var v jsontext.Value
			v, err = in.ReadValue()
			s.id = v.Clone()
		case "text", "stage":
			var t jsontext.Token
			if t, err = in.ReadToken(); err == nil && t.Kind() == 'n' {
				continue // as if it was not there
			} else if err == nil && t.Kind() != '"' {
				return s, fmt.Errorf("%s is %s; write a text in quotes", key, kindName(t.Kind()))
			} else if key == "text" {
				s.text = t.String()
			} else {
				s.stage = policy.Stage(t.String())
			}
		default:
			key = ""
			err = in.SkipValue()
		}
		switch {
		case err != nil:
			return s, errNoJSON
		case key != "" && slices.Contains(seen, key):
			return s, fmt.Errorf("%s stands there twice; write it once", key)
		}
		seen = append(seen, key)
	}
	if _, err := in.ReadToken(); err != nil { // the end of the object
		return s, errNoJSON
	}
	if _, err := in.ReadToken(); err != io.EOF {
		return s, errNoJSON
	}
	s.stage = cmp.Or(s.stage, policy.Input)
	switch {
	case !slices.Contains(seen, "text"):
		return s, errors.New(`text is missing; write "text": "…"`)
	case !slices.Contains(policy.Stages(), s.stage):
		return s, fmt.Errorf("stage is none that there is; write one of %s", strings.Join(stageNames(), ", "))
	case s.id != nil && !s.id.IsValid():
		return s, errors.New("id is not valid JSON: it is not Unicode, or has a key twice")
	}
	return s, nil
}
