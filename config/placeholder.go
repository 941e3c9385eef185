package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/session"
)

// values are what the placeholders in a node's texts stand for: {output} for what comes to the node,
// {output.city} for a value in it, {key} for the value of a state key, and {key?} for that of a key that
// may be missing.
type values struct {
	output any
	state  map[string]any
}

var placeholder = lazyregexp.New(`\{([a-zA-Z_][a-zA-Z0-9_:]*(?:\.[a-zA-Z0-9_-]+)*)(\?)?\}`)

// text returns a text with the values in it.
func (v values) text(text string) (string, error) {
	var wrong error
	text = placeholder.ReplaceAllStringFunc(text, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		value, err := v.find(m[1])
		switch text, isText := value.(string); {
		case err != nil && m[2] == "":
			wrong = err
			return ""
		case value == nil:
			return ""
		case isText:
			return text
		}
		data, err := json.Marshal(value)
		if err != nil {
			wrong = err
		}
		return string(data)
	})
	return text, wrong
}

// fill returns a value of a file with the values in its texts. A text that is nothing but a
// placeholder becomes the value as it is; where that is missing and may be, a key of an object is left
// out.
func (v values) fill(of any) (any, error) {
	switch of := of.(type) {
	case string:
		m := placeholder.FindStringSubmatch(of)
		if m == nil || m[0] != of {
			return v.text(of)
		}
		value, err := v.find(m[1])
		if err != nil && m[2] == "?" {
			return nil, nil
		}
		return value, err
	case map[string]any:
		filled := map[string]any{}
		for key, inner := range of {
			value, err := v.fill(inner)
			if err != nil {
				return nil, err
			}
			if value != nil || inner == nil {
				filled[key] = value
			}
		}
		return filled, nil
	case []any:
		filled := []any{}
		for _, inner := range of {
			value, err := v.fill(inner)
			if err != nil {
				return nil, err
			}
			filled = append(filled, value)
		}
		return filled, nil
	}
	return of, nil
}

// find returns the value that a placeholder names.
func (v values) find(name string) (any, error) {
	if value, ok := v.state[name]; ok && name != "output" {
		return value, nil
	}
	first, rest, deeper := strings.Cut(name, ".")
	value, ok := v.state[first]
	if first == "output" {
		value = spoken(v.output)
		ok = true
	}
	if !ok {
		return nil, fmt.Errorf("{%s} is missing: the state has no key %q%s; write {%s?} if it may be missing", name, first, has(v.state), name)
	}
	for deeper {
		var key string
		key, rest, deeper = strings.Cut(rest, ".")
		if text, ok := value.(string); ok { // what an agent has said in JSON
			if said, err := session.DecodeValue([]byte(text)); err == nil {
				value = said
			}
		}
		switch in := value.(type) {
		case map[string]any:
			if value, ok = in[key]; !ok {
				return nil, fmt.Errorf("{%s} is missing: there is no %q%s", name, key, has(in))
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return nil, fmt.Errorf("{%s} is missing: there is no %q in a list of %d, which are counted from 0", name, key, len(in))
			}
			value = in[i]
		default:
			return nil, fmt.Errorf("{%s} is missing: there is no %q, since what should have it is no object", name, key)
		}
	}
	return value, nil
}

// has lists the keys of an object for an error.
func has(object map[string]any) string {
	if len(object) == 0 {
		return ", nor any other"
	}
	return "; there are " + strings.Join(slices.Sorted(maps.Keys(object)), ", ")
}

// spoken returns the text of an input that is the user's message, and any other input as it is.
func spoken(output any) any {
	if content, ok := output.(*genai.Content); ok {
		return (&session.Event{Content: content}).Text()
	}
	message, ok := output.(map[string]any)
	if !ok || message["role"] != genai.RoleUser || message["parts"] == nil {
		return output
	}
	data, err := json.Marshal(message)
	content := &genai.Content{}
	if err != nil || json.Unmarshal(data, content) != nil {
		return output
	}
	return (&session.Event{Content: content}).Text()
}
