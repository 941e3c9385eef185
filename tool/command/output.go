package command

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// response makes the response of what a command wrote.
func response(out []byte, hidden *secrets) (map[string]any, error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if _, more := d.Token(); err != nil || more != io.EOF { // text, or several values
		return map[string]any{"result": valid(hidden.replace.Replace(string(out)))}, nil
	}
	v = plain(hidden.hide(v))
	if object, ok := v.(map[string]any); ok {
		return object, nil
	}
	return map[string]any{"result": v}, nil
}

// plain makes numbers float64, as everywhere, but for integers that would not be the same then.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		n, notInt := v.Int64()
		if err != nil || notInt == nil && int64(f) != n || notInt != nil && !strings.ContainsAny(v.String(), ".eE") {
			return v
		}
		return f
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

// bounded keeps what is written up to maxOutput, and calls full if there is more.
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
	cut  bool // something was before it
}

func (t *tail) Write(data []byte) (int, error) {
	t.data = append(t.data, data...)
	if over := len(t.data) - maxTail; over > 0 {
		t.data, t.cut = append([]byte(nil), t.data[over:]...), true
	}
	return len(data), nil
}

// text returns the tail, without the rest of a line whose begin is gone.
func (t *tail) text(hidden *secrets) string {
	text := t.data
	if t.cut {
		text = hidden.rest(text) // which may have several lines
	}
	if _, whole, ok := bytes.Cut(text, []byte("\n")); t.cut && ok && len(whole) > 0 {
		text = whole
	}
	return strings.TrimSpace(valid(hidden.replace.Replace(string(text))))
}

func valid(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }
