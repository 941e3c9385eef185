package trajectory

import (
	"bufio"
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

// written returns what an encoder has written, without the newline at its end, in as much memory as it needs.
func written(out *bytes.Buffer) raw { return bytes.Clone(bytes.TrimSuffix(out.Bytes(), []byte("\n"))) }

// encode writes a value as JSON, a number of package encoding/json as the number it is.
func encode(v any) (raw, error) {
	var out bytes.Buffer
	to := stdjson.NewEncoder(&out)
	to.SetEscapeHTML(false)
	err := to.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// A document is JSON that is written piece by piece, so that it need not be in memory as a whole. It can be
// shown on a terminal. The first error stays.
type document struct {
	buffer *bufio.Writer
	to     *encoder
	err    error
}

func newDocument(w io.Writer, options ...jsontext.Options) *document {
	buffer := bufio.NewWriterSize(w, 1<<16)
	options = append(options, lenient)
	return &document{
		buffer: buffer,
		to:     jsontext.NewEncoder(escape.Writer(buffer), options...),
	}
}

// tokens writes tokens.
func (d *document) tokens(tokens ...token) {
	for _, t := range tokens {
		if d.err == nil {
			d.err = d.to.WriteToken(t)
		}
	}
}

// value writes a value.
func (d *document) value(v any) {
	if d.err == nil {
		d.err = json.MarshalEncode(d.to, v)
	}
}

// member writes a member of an object.
func (d *document) member(name string, v any) {
	d.tokens(text(name))
	d.value(v)
}

// end ends the writing.
func (d *document) end() error {
	if d.err == nil {
		d.err = d.buffer.Flush()
	}
	return d.err
}
