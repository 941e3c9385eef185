package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Object returns an object of JSON with its numbers as they are written. What stands under a key twice is an
// error: a model may read the one that nobody has compared or judged.
func Object(data []byte) (object map[string]any, err error) {
	if !jsontext.Value(data).IsValid() {
		return nil, errors.New("it is no JSON in UTF-8, or has a key twice")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&object)
	return object, err
}
