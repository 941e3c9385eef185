package spelling

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session/internal/codec"
)

// part brings a part of the Rust kit, its names already in camelCase, into genai's form.
func part(value jsontext.Value) (jsontext.Value, error) {
	if value.Kind() != '{' {
		return value, nil
	}
	list, err := codec.Members(value)
	if err != nil {
		return nil, err
	}
	take := func(name string) jsontext.Value {
		v := codec.Find(list, name)
		list = slices.DeleteFunc(list, func(m codec.Member) bool { return m.Name == name })
		return v
	}
	wrap := func(name string, fields ...string) {
		var inner []codec.Member
		for _, f := range fields {
			if v := take(f); v != nil {
				inner = append(inner, codec.Member{Name: f, Value: v})
			}
		}
		list = append([]codec.Member{{Name: name, Value: codec.Object(inner)}}, list...)
	}
	has := func(name string) bool { v := codec.Find(list, name); return v != nil && v.Kind() != 'n' }
	switch {
	case has("text"), has("functionCall"), has("inlineData"), has("fileData"):
		// It is in genai's form: what is written from here must read as the same.
	case has("name") && has("args"):
		wrap("functionCall", "id", "name", "args")
	case has("thinking"):
		list = append([]codec.Member{{Name: "text", Value: take("thinking")}, {Name: "thought", Value: jsontext.Value("true")}}, list...)
		if s := take("signature"); s != nil {
			list = append(list, codec.Member{Name: "thoughtSignature", Value: opaque(s)})
		}
	case has("functionResponse"):
		inner, err := codec.Members(take("functionResponse"))
		if err != nil {
			return nil, err
		}
		for i, m := range inner {
			if m.Name == "response" && m.Value.Kind() != '{' && m.Value.Kind() != 'n' {
				inner[i].Value = codec.Object([]codec.Member{{Name: "result", Value: m.Value}})
			}
		}
		if id := take("id"); id != nil {
			inner = append([]codec.Member{{Name: "id", Value: id}}, inner...)
		}
		list = append([]codec.Member{{Name: "functionResponse", Value: codec.Object(inner)}}, list...)
	case has("mimeType") && has("fileUri"):
		wrap("fileData", "mimeType", "fileUri")
	case has("mimeType") && has("data"):
		var data []byte
		var numbers []uint8AsNumber
		if err := json.Unmarshal(codec.Find(list, "data"), &numbers); err == nil {
			for _, n := range numbers {
				data = append(data, byte(n))
			}
			list[slices.IndexFunc(list, func(m codec.Member) bool { return m.Name == "data" })].Value =
				jsontext.Value(`"` + base64.StdEncoding.EncodeToString(data) + `"`)
		}
		wrap("inlineData", "mimeType", "data")
	}
	if s := codec.Find(list, "thoughtSignature"); has("thoughtSignature") {
		list[slices.IndexFunc(list, func(m codec.Member) bool { return m.Name == "thoughtSignature" })].Value = opaque(s)
	}
	return codec.Object(list), nil
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
