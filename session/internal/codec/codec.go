// Package codec holds the JSON options that events are read and written with, and a view of a JSON
// object as a list of members. Packages session and store share them, so that an event's state delta
// and a stored state value have one form.
//
// A Go type with another form in other kits' JSON: a function in Lenient.
package codec

import (
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

var (
	// Encoding are the options that events and state values are written with. Bytes that are not
	// UTF-8 become U+FFFD, so that a tool's odd output fails no run.
	Encoding = json.JoinOptions(
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(true),
		jsonv1.OmitEmptyWithLegacySemantics(true), // what genai's tags mean
		json.WithMarshalers(json.MarshalToFunc(encodeNumber)),
	)
	// Decoding are the options of the fast path: they read what Encoding writes.
	Decoding = jsontext.AllowInvalidUTF8(true)
	// Lenient reads what the fast path does not: times as numbers, URL-safe base64 (which Python
	// writes), and integers that no float64 holds.
	Lenient = json.JoinOptions(Decoding, json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(decodeTime),
		json.UnmarshalFromFunc(decodeBytes),
		json.UnmarshalFromFunc(decodeAny),
	)))
)

// EncodeValue returns a state value's JSON. It returns nil for nil, a nil pointer and their like.
func EncodeValue(v any) (jsontext.Value, error) {
	data, err := json.Marshal(v, Encoding)
	if err != nil || jsontext.Value(data).Kind() == 'n' {
		return nil, err
	}
	return data, nil
}

// DecodeValue decodes the JSON of a state value. Integers beyond 2^53 become json.Number, other
// numbers float64.
func DecodeValue(data []byte) (any, error) {
	var v any
	err := json.Unmarshal(data, &v, Lenient)
	return v, err
}

// LongNumber reports whether data holds 16 digits in a row. If so, it may hold an integer beyond 2^53,
// which only Lenient reads exactly.
func LongNumber(data []byte) bool {
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
