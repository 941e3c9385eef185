package command

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plughook/plughook/session"
)

// response makes a response of what a command wrote.
func response(out []byte, hidden *secrets) (map[string]any, error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	_, end := d.Token()
	if err != nil || end != io.EOF { // text, or several values
		return map[string]any{"result": valid(hidden.Replace(string(out)))}, nil
	}
	if out, err = json.Marshal(hidden.Value(v)); err != nil {
		return nil, err
	}
	if v, err = session.DecodeValue(out); err != nil {
		return nil, err
	}
	if object, ok := v.(map[string]any); ok {
		return object, nil
	}
	return map[string]any{"result": v}, nil
}

// bounded keeps what is written, up to maxOutput bytes, and calls full if there is more.
type bounded struct {
	data []byte
	full func()
}

func (b *bounded) Write(data []byte) (int, error) {
	if len(b.data)+len(data) > maxOutput {
		b.full()
		return len(data), nil
	}
	b.data = append(b.data, data...)
	return len(data), nil
}

// tail keeps the end of what is written.
type tail struct {
	data []byte
	cut  bool // something was written before it
}

func (t *tail) Write(data []byte) (int, error) {
	t.data = append(t.data, data...)
	over := len(t.data) - maxTail
	if over > 0 {
		t.data = append([]byte(nil), t.data[over:]...)
		t.cut = true
	}
	return len(data), nil
}

// text returns the tail, without secrets. If something was written before it, text leaves out the
// first line, of which only the end is there.
func (t *tail) text(hidden *secrets) string {
	text := string(t.data)
	if t.cut {
		text = hidden.TrimStart(text) // before the line, since a secret may have several lines
	}
	_, afterFirst, found := strings.Cut(text, "\n")
	if t.cut && found && len(afterFirst) > 0 {
		text = afterFirst
	}
	return strings.TrimSpace(valid(hidden.Replace(text)))
}

func valid(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }
