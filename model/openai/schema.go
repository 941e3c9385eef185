package openai

import (
	"bytes"
	"encoding/json"
	"errors"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/genaischema"
)

// schemaOf returns a JSON schema that is given in one of two ways, nil if it is in neither.
func schemaOf(inJSON any, s *genai.Schema) (json.RawMessage, error) {
	if inJSON != nil && s != nil {
		return nil, errors.New("it is given twice, as a JSON schema and as Google's; give one")
	}
	if inJSON == nil {
		if s == nil {
			return nil, nil
		}
		inJSON = genaischema.ToJSON(s)
	}
	return toJSON(inJSON)
}

func toJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
