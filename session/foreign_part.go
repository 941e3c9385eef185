package session

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// part brings a part of the Rust kit, its names already in camelCase, into genai's form.
func part(value jsontext.Value) (jsontext.Value, error) {
	if value.Kind() != '{' {
		return value, nil
	}
	list, err := members(value)
	if err != nil {
		return nil, err
	}
	take := func(name string) jsontext.Value {
		v := find(list, name)
		list = slices.DeleteFunc(list, func(m member) bool { return m.name == name })
		return v
	}
	wrap := func(name string, fields ...string) {
		var inner []member
		for _, f := range fields {
			if v := take(f); v != nil {
				inner = append(inner, member{f, v})
			}
		}
		list = append([]member{{name, object(inner)}}, list...)
	}
	has := func(name string) bool { v := find(list, name); return v != nil && v.Kind() != 'n' }
	switch {
	case has("text"), has("functionCall"), has("inlineData"), has("fileData"):
		// It is in genai's form: what is written from here must read as the same.
	case has("name") && has("args"):
		wrap("functionCall", "id", "name", "args")
	case has("thinking"):
		list = append([]member{{"text", take("thinking")}, {"thought", jsontext.Value("true")}}, list...)
		if s := take("signature"); s != nil {
			list = append(list, member{"thoughtSignature", opaque(s)})
		}
	case has("functionResponse"):
		inner, err := members(take("functionResponse"))
		if err != nil {
			return nil, err
		}
		for i, m := range inner {
			if m.name == "response" && m.value.Kind() != '{' && m.value.Kind() != 'n' {
				inner[i].value = object([]member{{"result", m.value}})
			}
		}
		if id := take("id"); id != nil {
			inner = append([]member{{"id", id}}, inner...)
		}
		list = append([]member{{"functionResponse", object(inner)}}, list...)
	case has("mimeType") && has("fileUri"):
		wrap("fileData", "mimeType", "fileUri")
	case has("mimeType") && has("data"):
		var data []byte
		var numbers []uint8AsNumber
		if err := json.Unmarshal(find(list, "data"), &numbers); err == nil {
			for _, n := range numbers {
				data = append(data, byte(n))
			}
			list[slices.IndexFunc(list, func(m member) bool { return m.name == "data" })].value =
				jsontext.Value(`"` + base64.StdEncoding.EncodeToString(data) + `"`)
		}
		wrap("inlineData", "mimeType", "data")
	}
	if s := find(list, "thoughtSignature"); has("thoughtSignature") {
		list[slices.IndexFunc(list, func(m member) bool { return m.name == "thoughtSignature" })].value = opaque(s)
	}
	return object(list), nil
}

type uint8AsNumber uint16 // so that a list of them is no byte string

// opaque returns a signature that is not base64 as the base64 of its bytes.
func opaque(quoted jsontext.Value) jsontext.Value {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	std := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	if _, err := base64.RawStdEncoding.DecodeString(std); err == nil {
		return quoted
	}
	return jsontext.Value(`"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"`)
}

func object(list []member) jsontext.Value {
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, m.name)
		out = append(append(out, ':'), m.value...)
	}
	return append(out, '}')
}
