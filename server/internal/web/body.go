package web

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Body reads a body of at most limit bytes; 0 is no bound. The request has the memory for it from before the first
// byte is read until it is answered.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if limit == 0 {
		limit = math.MaxInt64
	}
	// A body that does not say its length, or says a wrong one, may have any.
	size := min(max(r.ContentLength, 0), limit)
	if r.ContentLength < 0 {
		size = min(limit, unknownBody)
	}
	hold := HoldOf(r.Context())
	if err := hold.TakeJSON(size); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(size) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	data := buf.Bytes()
	hold.AddJSON(int64(len(data)) - size)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, err
	case err != nil:
		return nil, Bad("the body could not be read to its end")
	}
	return data, nil
}

// unknownBody is how many bytes a body is taken to have that does not say it.
const unknownBody = 10 << 20

// JSON reads a body of at most limit bytes that is to be JSON, nested at most maxDepth deep.
func JSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	data, err := Body(w, r, limit)
	if err != nil {
		return nil, err
	}
	values, deep := measure(data)
	if deep {
		return nil, Bad(fmt.Sprintf("the body has values nested more than %d deep", maxDepth))
	}
	if err := HoldOf(r.Context()).TakeJSON(values * valueSize); err != nil {
		return nil, err
	}
	return data, nil
}

// valueSize is for how many bytes of JSON an object or an array counts beside its text: a part of a message, {}, is a struct
// of some hundred bytes.
const valueSize = 128

// Decode reads a body that is one JSON object. Unknown and repeated keys are errors, with their place. An
// empty body is an object without keys.
func (c *Core) Decode(w http.ResponseWriter, r *http.Request, to any) error {
	data, err := JSON(w, r, c.Limits.Body)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	return Unmarshal(data, to, json.RejectUnknownMembers(true))
}

// maxDepth is how deep the values of a body may be nested. What an agent or a person sends is not deep, and
// who reads deep JSON later takes long.
const maxDepth = 200

// measure returns how many objects and arrays JSON has, and whether it is nested deeper than maxDepth.
func measure(data []byte) (values int64, deep bool) {
	depth := 0
	inString := false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case inString && b == '\\':
			i++
		case b == '"':
			inString = !inString
		case inString:
		case b == '{' || b == '[':
			values++
			depth++
			if depth > maxDepth {
				return values, true
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return values, false
}

// Unmarshal reads JSON that a client has sent. Its errors say where the JSON is not what is wanted, and
// repeat nothing of it.
func Unmarshal(data []byte, to any, options ...json.Options) error {
	err := json.Unmarshal(data, to, options...)
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		return Bad(fmt.Sprintf("the body at %s (byte %d): %s", semantic.JSONPointer,
			semantic.ByteOffset, Wrong(semantic)))
	case errors.As(err, &syntactic):
		return Bad(fmt.Sprintf("the body is not JSON: byte %d: %v", syntactic.ByteOffset, syntactic.Err))
	case err != nil:
		return Bad("the body is not JSON")
	}
	return nil
}

// Wrong says what is wrong with a value of a body, without the names of types.
func Wrong(err *json.SemanticError) string {
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return "is no key that is known here"
	case err.Err != nil:
		return err.Err.Error()
	}
	return "has the wrong type"
}
