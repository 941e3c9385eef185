package trajectory

import (
	"bytes"
	stdjson "encoding/json"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/escape"
)

type (
	encoder = jsontext.Encoder
	decoder = jsontext.Decoder
	token   = jsontext.Token
	// raw is JSON that is written as it stands.
	raw = jsontext.Value
)

func newEncoder(w io.Writer) *encoder { return jsontext.NewEncoder(w, lenient) }

func newDecoder(v raw) *decoder { return jsontext.NewDecoder(bytes.NewReader(v), lenient) }

func text(s string) token { return jsontext.String(s) }

// lenient reads and writes what other kits' events may have.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
	json.Deterministic(true))

// encode writes a value as JSON, a number of package encoding/json as the number it is.
func encode(v any) (raw, error) {
	var out bytes.Buffer
	to := stdjson.NewEncoder(&out)
	to.SetEscapeHTML(false)
	err := to.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// writeLine writes a value as a line that can be shown on a terminal.
func writeLine(w io.Writer, v any) error {
	data, err := json.Marshal(v, lenient)
	if err != nil {
		return err
	}
	_, err = w.Write(append(escape.JSON(data), '\n'))
	return err
}
