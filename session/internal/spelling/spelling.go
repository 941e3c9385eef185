// Package spelling brings an event that another kit wrote into the one JSON form: camelCase keys and
// genai's parts. Some kits and their databases write keys in snake_case or PascalCase, and the Rust kit
// has a form of its own for parts. Keys that are not known stay as they are.
//
// A new key of another kit: add it to otherEventKeys or otherActionKeys. Our own keys come from package session.
package spelling

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session/internal/codec"
)

// A Table knows the keys of an event by their folded spelling.
type Table struct {
	event, actions map[string]string
	// free holds the keys below which names are the user's and stay.
	free map[string]string
}

// NewTable returns the table of an event's keys and of its actions' keys. Below the free ones, names are the user's. Keys
// that only other kits have come to these.
func NewTable(event, actions, free []string) *Table {
	return &Table{
		event:   keyTable(event, otherEventKeys),
		actions: keyTable(actions, otherActionKeys),
		free:    keyTable(free, otherFreeKeys),
	}
}

// Keys that other kits have, and session.Event has not.
const (
	otherEventKeys = "isolationScope avgLogprobs logprobsResult inputTranscription outputTranscription cacheMetadata " +
		"interactionId liveSessionResumptionUpdate liveSessionId environmentId goAway voiceActivity turnCompleteReason " +
		"requestedInput routes"
	otherActionKeys = "rewindBeforeInvocationId requestedAuthConfigs endOfAgent agentState renderUiWidgets setModelResponse"
	otherFreeKeys   = "args response partMetadata payload agentState data setModelResponse scopes responseSchema"
)

// goRoutes is the key of an event under which the Go kit writes what stands under "route" in the actions.
const goRoutes = "routes"

// snakeParts are the keys that a part in snake_case has one of, if it has no text.
var snakeParts = []string{`"function_call"`, `"function_response"`, `"inline_data"`, `"file_data"`, `"executable_code"`, `"code_execution_result"`}

func keyTable(names []string, others string) map[string]string {
	table := map[string]string{}
	for _, name := range append(names, strings.Fields(others)...) {
		table[Folded(name)] = name
	}
	return table
}

// Folded returns a key without underscores and in lower case: all spellings of a key fold to one.
func Folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// Known reports whether a key, in any spelling, is one that some kit's events have.
func (t *Table) Known(name string) bool { return t.event[Folded(name)] != "" }

// Foreign reports whether an event that was read on the fast path may be in another kit's spelling: if
// one of its unknown keys is a known key spelled otherwise, or a part of its content came out empty.
func (t *Table) Foreign(content *genai.Content, extra, actionsExtra map[string]jsontext.Value) bool {
	if content != nil {
		for _, part := range content.Parts {
			if part != nil && reflect.ValueOf(*part).IsZero() {
				return true
			}
		}
	}
	return extra[goRoutes] != nil || respelled(extra, t.event) || respelled(actionsExtra, t.actions)
}

func respelled(extra map[string]jsontext.Value, keys map[string]string) bool {
	for name := range extra {
		if known := keys[Folded(name)]; known != "" && known != name {
			return true
		}
	}
	return false
}

// Canonical returns a foreign event in the one form, and any other event as it is.
func (t *Table) Canonical(data jsontext.Value) (jsontext.Value, error) {
	var keys struct {
		Extra   map[string]jsontext.Value `json:",embed"`
		Actions struct {
			Extra map[string]jsontext.Value `json:",embed"`
		} `json:"actions"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(data, &keys, codec.Decoding); err != nil {
		return nil, err
	}
	spelled := keys.Extra[goRoutes] != nil || respelled(keys.Extra, t.event) || respelled(keys.Actions.Extra, t.actions)
	for _, name := range snakeParts {
		spelled = spelled || bytes.Contains(keys.Content, []byte(name))
	}
	if !spelled {
		return data, nil
	}
	data, err := codec.Rewrite(data, func(name string, value jsontext.Value) (string, jsontext.Value, error) {
		if known := t.event[Folded(name)]; known != "" {
			name = known
		}
		var err error
		switch {
		case name == "actions" && value.Kind() == '{':
			value, err = codec.Rewrite(value, func(name string, value jsontext.Value) (string, jsontext.Value, error) {
				if known := t.actions[Folded(name)]; known != "" {
					name = known
				}
				if t.free[Folded(name)] != "" {
					return name, value, nil
				}
				value, err := t.camelled(value, name == "requestedToolConfirmations" || name == "requestedAuthConfigs")
				return name, value, err
			})
		case name == "content" && value.Kind() == '{':
			if value, err = t.camelled(value, false); err == nil {
				value, err = codec.Rewrite(value, func(name string, value jsontext.Value) (string, jsontext.Value, error) {
					if name == "parts" {
						value, err = codec.RewriteAll(value, part)
					}
					return name, value, err
				})
			}
		case name == "finishReason" && value.Kind() == '"':
			value = jsontext.Value(upperSnake(string(value)))
		case t.free[Folded(name)] == "" && t.event[Folded(name)] != "":
			value, err = t.camelled(value, false)
		}
		return name, value, err
	})
	if err != nil {
		return nil, err
	}
	return withRoute(data)
}

// withRoute returns an event with the Go kit's routes as the route of its actions. An event without routes stays
// as it is. If it has a route as well, the result has the key twice, so that reading it fails.
func withRoute(event jsontext.Value) (jsontext.Value, error) {
	members, err := codec.Members(event)
	if err != nil {
		return nil, err
	}
	routes := codec.Find(members, goRoutes)
	if routes == nil {
		return event, nil
	}
	members = slices.DeleteFunc(members, func(m codec.Member) bool { return m.Name == goRoutes })
	if kind := routes.Kind(); kind == 'n' || kind == '[' && len(routes) == len("[]") {
		return codec.Object(members), nil
	}

	// The actions may be missing or null.
	at := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name == "actions" })
	if at < 0 {
		at = len(members)
		members = append(members, codec.Member{Name: "actions", Value: jsontext.Value("null")})
	}
	var actions []codec.Member
	switch members[at].Value.Kind() {
	case 'n':
	case '{':
		actions, err = codec.Members(members[at].Value)
		if err != nil {
			return nil, err
		}
	default:
		return event, nil // it is no event
	}
	members[at].Value = codec.Object(append(actions, codec.Member{Name: "route", Value: routes}))
	return codec.Object(members), nil
}

// camelled returns the value with all names below in camelCase, but what is below free ones. ids says
// that the value's own names are ids.
func (t *Table) camelled(value jsontext.Value, ids bool) (jsontext.Value, error) {
	switch value.Kind() {
	case '[':
		return codec.RewriteAll(value, func(v jsontext.Value) (jsontext.Value, error) { return t.camelled(v, false) })
	case '{':
		return codec.Rewrite(value, func(name string, value jsontext.Value) (string, jsontext.Value, error) {
			var err error
			if t.free[Folded(name)] == "" {
				value, err = t.camelled(value, false)
			}
			if !ids {
				name = Camel(name)
			}
			return name, value, err
		})
	}
	return value, nil
}

// Camel returns a key in camelCase.
func Camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	if name = strings.Join(words, ""); name != "" && unicode.IsUpper(rune(name[0])) {
		name = strings.ToLower(name[:1]) + name[1:]
	}
	return name
}

// upperSnake turns the Rust kit's "MaxTokens" into "MAX_TOKENS".
func upperSnake(quoted string) string {
	if strings.ToUpper(quoted) == quoted {
		return quoted
	}
	var b strings.Builder
	for i, r := range quoted {
		if unicode.IsUpper(r) && i > 1 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
