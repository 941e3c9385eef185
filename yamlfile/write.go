package yamlfile

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// Write returns a value as a file that Read reads to the same value. It is written with the names that it has
// in JSON, in their order. Texts are in double quotes unless nobody could take them for something else.
func Write(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	w := writer{in: d}
	if err := w.value("", ""); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

type writer struct {
	in  *json.Decoder
	out bytes.Buffer
}

// value writes the next value. A value on the line of its key, or of the mark of its list, has before in
// front of it; members of a list or an object are on lines of their own, after indent.
func (w *writer) value(before, indent string) error {
	t, err := w.in.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'), json.Delim('['):
	default:
		w.out.WriteString(before + scalar(t) + "\n")
		return nil
	}
	if !w.in.More() {
		w.out.WriteString(before + map[json.Delim]string{'{': "{}", '[': "[]"}[t.(json.Delim)] + "\n")
		_, err = w.in.Token()
		return err
	}
	lead := indent
	switch before {
	case " ":
		w.out.WriteByte('\n')
	case "- ": // the first member is on the line of the mark
		lead = before
	}
	for w.in.More() {
		w.out.WriteString(lead)
		lead = indent
		if t == json.Delim('[') {
			if err := w.value("- ", indent+"  "); err != nil {
				return err
			}
			continue
		}
		key, err := w.in.Token()
		if err != nil {
			return err
		}
		w.out.WriteString(scalar(key) + ":")
		if err := w.value(" ", indent+"  "); err != nil {
			return err
		}
	}
	_, err = w.in.Token()
	return err
}

var (
	plainText = lazyregexp.New(`^\pL([\pL\pN_ ,.!?'()/-]*[\pL\pN.!?)])?$`)
	// otherThanText are words that are something else without quotes, to some readers.
	otherThanText = lazyregexp.New(`^(?i:true|false|yes|no|on|off|y|n|null)$`)
)

// scalar returns a text, a number, true, false or null as YAML.
func scalar(t json.Token) string {
	switch t := t.(type) {
	case string:
		if plainText.MatchString(t) && !otherThanText.MatchString(t) && !strings.Contains(t, "  ") {
			return t
		}
		return strconv.Quote(t) // its escapes are YAML's
	case json.Number:
		text := string(t)
		if e := strings.IndexAny(text, "eE"); e >= 0 && !strings.Contains(text, ".") { // others take 1e-7 for a text
			text = text[:e] + ".0" + text[e:]
		}
		return text
	case bool:
		return strconv.FormatBool(t)
	}
	return "null"
}
