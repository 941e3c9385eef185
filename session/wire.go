package session

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session/internal/codec"
)

// plain is Event without its methods: what the codec sees.
type plain Event

// MarshalJSON writes the event in its one JSON form; see Event.
func (e *Event) MarshalJSON() ([]byte, error) {
	p := (*plain)(e)
	if e.origin != nil {
		if data := unchanged(e.origin, *p); data != nil {
			return data, nil
		}
	}
	data, err := json.Marshal(p, codec.Encoding)
	if err != nil {
		return nil, fmt.Errorf("session: event %q does not encode: %w", e.ID, err)
	}
	if e.origin == nil {
		return data, nil
	}
	return restore(e.origin, data)
}

// UnmarshalJSON reads an event; see Event. Keys may also be spelled in snake_case, as some kits store
// them; they are written in camelCase. A key that stands twice is an error.
func (e *Event) UnmarshalJSON(data []byte) error {
	read, err := decode(bytes.Clone(data))
	if err != nil {
		return err
	}
	*e = *read
	return nil
}

// decode reads an event and keeps data, which the caller gives away.
func decode(data []byte) (*Event, error) {
	if !utf8.Valid(data) { // or it would be written so: not every reader of JSON is as lenient
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	if jsontext.Value(data).Kind() != '{' {
		return nil, errors.New("session: not an event: not a JSON object")
	}
	p, err := readPlain(data, codec.Decoding)
	if err != nil || codec.LongNumber(data) || spellings.Foreign(p.Content, p.Extra, p.Actions.Extra) {
		// It is another kit's, or has what only the lenient options read.
		data, err = spellings.Canonical(data)
		if err != nil {
			return nil, fmt.Errorf("session: not an event: %w", err)
		}
		p, err = readPlain(data, codec.Lenient)
		if err != nil {
			return nil, fmt.Errorf("session: not an event: %w", err)
		}
	}
	p.origin = data
	p.shareTexts()
	return (*Event)(p), nil
}

// shareTexts makes long texts parts of the JSON that the event keeps, where they stand there as they are: an event
// that was read would have them twice.
func (p *plain) shareTexts() {
	const long = 32
	data := unsafe.String(unsafe.SliceData(p.origin), len(p.origin)) // which nobody writes to
	share := func(text *string) {
		if len(*text) < long {
			return
		}
		if i := strings.Index(data, *text); i >= 0 {
			*text = data[i : i+len(*text)]
		}
	}
	share(&p.ID)
	share(&p.InvocationID)
	if p.Content == nil {
		return
	}
	for _, part := range p.Content.Parts {
		if part != nil {
			share(&part.Text)
		}
	}
}

// readPlain reads an event's fields. A nodeInfo that says nothing, which the Python kit writes on every event
// outside of workflows, is none.
func readPlain(data []byte, options json.Options) (*plain, error) {
	p := new(plain)
	err := json.Unmarshal(data, p, options)
	if p.NodeInfo != nil && reflect.ValueOf(*p.NodeInfo).IsZero() {
		p.NodeInfo = nil
	}
	return p, err
}

// MarshalJSON writes the position as a number.
func (r Rewind) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, r.To, 10), nil }

// UnmarshalJSON reads the position.
func (r *Rewind) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &r.To) }

// DecodeValue decodes a JSON value as the values inside of events are decoded: integers beyond 2^53 are
// json.Number of the standard library, other numbers float64.
func DecodeValue(data []byte) (any, error) { return codec.DecodeValue(data) }
