package dialect

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Values stay as they came: numbers beyond 2^53, unknown fields and their order survive a change.
// A lone surrogate is read as U+FFFD.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// An object has the members of a JSON object.
type object map[string]jsontext.Value

func members(v jsontext.Value) (object, error) {
	if v.Kind() != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	o := object{}
	return o, json.Unmarshal(v, &o, lenient)
}

func elements(v jsontext.Value) []jsontext.Value {
	var list []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &list, lenient) != nil {
		return nil
	}
	return list
}

func scalar(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s, lenient) != nil {
		return ""
	}
	return s
}

func truth(v jsontext.Value) bool { return string(v) == "true" }

func (o object) text(key string) string { return scalar(o[key]) }

func (o object) number(key string) float64 {
	n, err := strconv.ParseFloat(string(o[key]), 64)
	if err != nil {
		return 0
	}
	return n
}

// follow follows a path with dots. Of a list it takes the first element.
func follow(v jsontext.Value, path string) jsontext.Value {
	for key := range strings.SplitSeq(path, ".") {
		if list := elements(v); len(list) > 0 {
			v = list[0]
		}
		o, err := members(v)
		if err != nil {
			return nil
		}
		v = o[key]
	}
	return v
}

// first returns the value of the first path that leads to one.
func (o object) first(paths []string) jsontext.Value {
	for _, path := range paths {
		key, rest, deeper := strings.Cut(path, ".")
		v := o[key]
		if deeper {
			v = follow(v, rest)
		}
		if v != nil && v.Kind() != 'n' {
			return v
		}
	}
	return nil
}

// firstOf returns the first text that is not empty; of a list, its first element.
func firstOf(keys []string, o object) string {
	for _, key := range keys {
		v := o[key]
		if list := elements(v); len(list) > 0 {
			v = list[0]
		}
		if s := scalar(v); s != "" {
			return s
		}
	}
	return ""
}

// unquoted returns the JSON in a string of JSON, and any other value as it is.
func unquoted(v jsontext.Value) jsontext.Value {
	text := strings.TrimSpace(scalar(v))
	if inner := jsontext.Value(text); (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && inner.IsValid(lenient) {
		return inner
	}
	return v
}

// texts are the members of a result that hold what a person or a model reads, the most telling first.
var texts = []string{"stdout", "textResultForLlm", "llmContent", "result", "file", "content", "output", "text",
	"functionResponse", "response", "filenames", "new_string", "message"}

// textOf returns the text in a value: a string, or what texts names in it, however deep. The strings of a
// list are joined with a separator. Of a list of messages it is the last one of the user's.
func textOf(v jsontext.Value, separator string) string {
	switch v.Kind() {
	case '"':
		return scalar(v)
	case '[':
		var found []string
		for _, element := range elements(v) {
			if o, err := members(element); err == nil {
				separator = "\n"
				if role := o.text("role"); role == "user" {
					found = nil
				} else if role != "" {
					continue
				}
			}
			if text := textOf(element, separator); text != "" {
				found = append(found, text)
			}
		}
		return strings.Join(found, separator)
	case '{':
		o, err := members(v)
		if err != nil {
			return ""
		}
		for _, key := range texts {
			text := textOf(o[key], separator)
			if key == "stdout" {
				text = strings.Join(slices.DeleteFunc([]string{text, o.text("stderr")}, func(s string) bool { return s == "" }), "\n")
			}
			if text != "" {
				return text
			}
		}
	}
	return ""
}

// withText returns a value of the same shape whose text is another one, and false if it holds none.
func withText(v jsontext.Value, text string) (jsontext.Value, bool) {
	switch v.Kind() {
	case '"':
		return quoted(text), true
	case '[':
		for _, element := range elements(v) {
			if changed, ok := withText(element, text); ok {
				return jsontext.Value("[" + string(changed) + "]"), true
			}
		}
	case '{':
		o, err := members(v)
		if err != nil {
			return nil, false
		}
		for _, key := range texts {
			changed, ok := withText(o[key], text)
			if !ok || o[key].Kind() == '"' && o.text(key) == "" && key != "stdout" {
				continue
			}
			v = withMember(v, key, changed)
			if key == "stdout" && o.text("stderr") != "" {
				v = withMember(v, "stderr", quoted(""))
			}
			return v, true
		}
	}
	return nil, false
}

// withMember returns an object in which one member has another value, and the others are as they were.
func withMember(v jsontext.Value, key string, value jsontext.Value) jsontext.Value {
	var out strings.Builder
	decoder := jsontext.NewDecoder(strings.NewReader(string(v)), lenient)
	_, _ = decoder.ReadToken()
	separator := "{"
	for decoder.PeekKind() == '"' {
		name, _ := decoder.ReadValue()
		name = name.Clone()
		old, err := decoder.ReadValue()
		if err != nil {
			break
		}
		out.WriteString(separator + string(name) + ":")
		if scalar(name) == key {
			old = value
		}
		out.Write(old)
		separator = ","
	}
	return jsontext.Value(out.String() + "}")
}

// quoted returns a text as a JSON string. What is not UTF-8 becomes U+FFFD.
func quoted(text string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, text)
	return v
}
