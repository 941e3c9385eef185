package main

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// writeJSON writes a value as a line of JSON to standard output.
func (p *program) writeJSON(v any) error {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return exitOther.as(err)
	}
	_, err = p.out.Write(append(data, '\n'))
	return err
}
