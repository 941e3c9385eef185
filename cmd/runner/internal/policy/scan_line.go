package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonstrict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// scanInput is a line that policy scan reads.
type scanInput struct {
	ID    jsontext.Value `json:"id"`
	Text  *string        `json:"text"`
	Stage policy.Stage   `json:"stage"`
}

// readScanInput reads a line. What its other keys have does not matter: programs write all kinds of
// things beside a text. Its error does not quote the line.
func readScanInput(line []byte) (in scanInput, err error) {
	err = jsonstrict.Unmarshal(line, &in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	in.Stage = cmp.Or(in.Stage, policy.Input)
	_, isOtherKind := errors.AsType[*jsonstrict.SemanticError](err)
	switch {
	case isOtherKind:
		return in, errors.New(`this is no object with a text, and perhaps a stage, in quotes; write {"text": "…"}`)
	case err != nil:
		return in, errors.New(`this is not JSON; write an object on one line: {"text": "…"}`)
	case in.Text == nil:
		return in, errors.New(`text is missing; write "text": "…"`)
	case !slices.Contains(policy.Stages(), in.Stage):
		return in, fmt.Errorf("there is no such stage; write one of %s", strings.Join(stageNames(), ", "))
	case in.ID != nil && !in.ID.IsValid():
		return in, errors.New("id is not valid JSON: it is not Unicode, or has a key twice")
	}
	return in, nil
}
