package session

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// plain is Event without its methods: what the codec sees.
type plain Event

var (
	encoding = json.JoinOptions(
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(true),           // replaced by U+FFFD: a tool's odd bytes must not fail a run
		jsonv1.OmitEmptyWithLegacySemantics(true), // what genai's tags mean
		json.WithMarshalers(json.MarshalToFunc(encodeNumber)),
	)
	decoding = jsontext.AllowInvalidUTF8(true)
	// lenient reads what the fast path leaves to it: times as numbers, URL-safe base64 (which Python
	// writes), and integers that no float64 holds.
	lenient = json.JoinOptions(decoding, json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(decodeTime),
		json.UnmarshalFromFunc(decodeBytes),
		json.UnmarshalFromFunc(decodeAny),
	)))
)

// MarshalJSON writes the event in its one JSON form; see Event.
func (e *Event) MarshalJSON() ([]byte, error) { return e.encode(true) }

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

// encode returns the event's JSON, the position left out on request.
func (e *Event) encode(seq bool) ([]byte, error) {
	p := plain(*e)
	if !seq {
		p.Seq = 0
	}
	if e.origin != nil {
		if data := unchanged(e.origin, p); data != nil {
			return data, nil
		}
	}
	data, err := json.Marshal(&p, encoding)
	if err != nil {
		return nil, fmt.Errorf("session: event %q does not encode: %w", e.ID, err)
	}
	if e.origin == nil {
		return data, nil
	}
	return restore(e.origin, data)
}

// decode reads an event and keeps data, which the caller gives away.
func decode(data []byte) (*Event, error) {
	if !utf8.Valid(data) { // or it would be written so: not every reader of JSON is as lenient
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	if jsontext.Value(data).Kind() != '{' {
		return nil, errors.New("session: not an event: not a JSON object")
	}
	var p plain
	err := json.Unmarshal(data, &p, decoding)
	if err != nil || longNumber(data) || foreign(&p) {
		if data, err = canonical(data); err != nil {
			return nil, fmt.Errorf("session: not an event: %w", err)
		}
		p = plain{}
		if err := json.Unmarshal(data, &p, lenient); err != nil {
			return nil, fmt.Errorf("session: not an event: %w", err)
		}
	}
	p.origin = data
	e := Event(p)
	return &e, nil
}

// longNumber reports whether data holds 16 digits in a row, and so perhaps an integer beyond 2^53.
func longNumber(data []byte) bool {
	// Every run of 16 digits covers one of the positions 15, 31, 47, …: look there first.
	for i := 15; i < len(data); i += 16 {
		if data[i]-'0' > 9 {
			continue
		}
		from, to := i, i+1
		for from > 0 && data[from-1]-'0' <= 9 {
			from--
		}
		for to < len(data) && data[to]-'0' <= 9 {
			to++
		}
		if to-from >= 16 {
			return true
		}
	}
	return false
}

// encodeNumber writes a json.Number as the number it is: to this codec it is a string.
func encodeNumber(e *jsontext.Encoder, n stdjson.Number) error {
	if kind, length := e.StackIndex(e.StackDepth()); kind == '{' && length%2 == 0 {
		return errors.ErrUnsupported // the name of a member
	}
	v := jsontext.Value(cmp.Or(n, "0"))
	if v.Kind() != '0' {
		return fmt.Errorf("json.Number %q is not a number", string(n))
	}
	return e.WriteValue(v)
}

func decodeTime(d *jsontext.Decoder, t *time.Time) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	// Seconds and nanoseconds apart: a float64 holds the present only to 200 ns.
	whole, frac, _ := strings.Cut(string(v), ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	nano := int64(0)
	if strings.ContainsAny(frac, "eE") {
		err = strconv.ErrSyntax
	}
	if err == nil && frac != "" {
		nano, err = strconv.ParseInt((frac + "000000000")[:9], 10, 64)
		if strings.HasPrefix(whole, "-") {
			nano = -nano
		}
	}
	if err != nil { // an exponent
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return err
		}
		sec, nano = int64(math.Floor(f)), int64((f-math.Floor(f))*1e9)
	}
	*t = time.Unix(sec, nano).UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return fmt.Errorf("time %s is not in the years 1 to 9999", v)
	}
	return nil
}

func decodeBytes(d *jsontext.Decoder, b *[]byte) error {
	if d.PeekKind() != '"' {
		return errors.ErrUnsupported
	}
	tok, err := d.ReadToken()
	if err != nil {
		return err
	}
	std := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(tok.String(), "="))
	if n := len(std) % 4; n != 0 {
		std += "===="[n:]
	}
	quoted, err := jsontext.AppendQuote(nil, std)
	if err != nil {
		return err
	}
	return json.Unmarshal(quoted, b)
}

// decodeAny keeps an integer beyond 2^53 as a json.Number; other numbers are float64, as usual.
func decodeAny(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	n := string(raw)
	f, err := strconv.ParseFloat(n, 64)
	switch exact := 1 << 53; {
	case err != nil, math.Abs(f) >= float64(exact) && !strings.ContainsAny(n, ".eE"):
		*v = stdjson.Number(n)
	default:
		*v = f
	}
	return nil
}

// MarshalJSON writes the position as a number.
func (r Rewind) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, r.To, 10), nil }

// UnmarshalJSON reads the position.
func (r *Rewind) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &r.To) }
