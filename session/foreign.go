package session

import "github.com/go-json-experiment/json/jsontext"

func foreign(p *plain) bool { return false }

func canonical(data jsontext.Value) (jsontext.Value, error) { return data, nil }
