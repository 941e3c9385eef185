package kit

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A body is that of a request: a JSON object. Keys that no route knows are ignored, as the kit's servers do.
type body struct {
	raw jsontext.Value
	// keys are the object's keys, without those that are null, by their spelling without underscores and in
	// lower case: clients send both "sessionId" and "session_id".
	keys map[string]jsontext.Value
	err  error // of the first key whose value is not what a reader has wanted
}

// readBody reads a body of at most limit bytes. An empty one and null are an object without keys.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) (*body, error) {
	data, err := web.JSON(w, r, limit)
	if err != nil {
		return nil, err
	}
	if text := bytes.TrimSpace(data); len(text) == 0 || string(text) == "null" {
		data = []byte("{}")
	}
	spelled := map[string]jsontext.Value{}
	if err := json.Unmarshal(data, &spelled, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, web.Bad("the body is not a JSON object")
	}
	b := &body{raw: data, keys: map[string]jsontext.Value{}}
	for _, key := range slices.Sorted(maps.Keys(spelled)) { // of two spellings, always the same one counts
		if value := spelled[key]; value.Kind() != 'n' {
			b.keys[folded(key)] = value
		}
	}
	return b, nil
}

// folded returns a key without underscores and in lower case.
func folded(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// read reads the value of a key, which stays as it is if the body does not have the key.
func (b *body) read(key string, to any) {
	value := b.keys[folded(key)]
	if value != nil && json.Unmarshal(value, to, jsontext.AllowInvalidUTF8(true)) != nil {
		b.fail(web.Bad(key + " has the wrong type"))
	}
}

// fail notes what is wrong with the body.
func (b *body) fail(err error) { b.err = cmp.Or(b.err, err) }

// object returns the value of a key that is an object: state, a state delta, metadata. It is nil if the body
// does not have the key.
func (b *body) object(key string) map[string]any {
	value := b.keys[folded(key)]
	if value == nil {
		return nil
	}
	return b.readObject(key, value)
}

// readObject reads a JSON object. Integers that no float64 holds stay exact.
func (b *body) readObject(what string, data jsontext.Value) map[string]any {
	v, err := session.DecodeValue(data)
	o, ok := v.(map[string]any)
	if err != nil || !ok {
		b.fail(web.Bad(what + " is not a JSON object"))
	}
	return o
}

// readContent reads a message, whose parts may be spelled in either way. It returns nil for one without
// parts.
func readContent(data jsontext.Value) (*genai.Content, error) {
	if data == nil {
		return nil, nil
	}
	// Events read every spelling of the kit's family.
	event, err := json.Marshal(map[string]jsontext.Value{"content": data}, jsontext.AllowInvalidUTF8(true))
	var e session.Event
	if err == nil {
		err = e.UnmarshalJSON(event)
	}
	if err != nil {
		return nil, web.Bad("newMessage is not a message: it is {\"role\": \"user\", \"parts\": " +
			"[{\"text\": TEXT}]}")
	}
	if e.Content == nil || len(e.Content.Parts) == 0 {
		return nil, nil
	}
	if e.Content.Role == "" {
		e.Content.Role = genai.RoleUser
	}
	return e.Content, nil
}

// readPart reads one part that is a file or a text, whose keys may be spelled in either way.
func readPart(data jsontext.Value) (*genai.Part, error) {
	bad := web.Bad("artifact is missing, or not a part such as {\"inlineData\": {\"mimeType\": " +
		"TYPE, \"data\": BASE64}}")
	keys := map[string]jsontext.Value{}
	if data.Kind() != '{' || json.Unmarshal(data, &keys, jsontext.AllowInvalidUTF8(true)) != nil {
		return nil, bad
	}
	for key := range keys {
		switch folded(key) {
		case "text", "inlinedata", "filedata":
			c, err := readContent(append(append([]byte(`{"parts":[`), data...), "]}"...))
			if err != nil || c == nil {
				return nil, bad
			}
			return c.Parts[0], nil
		}
	}
	return nil, bad
}
