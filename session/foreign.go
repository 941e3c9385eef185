package session

import (
	"bytes"
	"reflect"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Other kits, and their databases, spell an event's keys in snake_case or PascalCase, and the Rust kit
// has parts of its own form. What follows brings such an event into the one form; keys that are not
// known stay as they are.

var eventKeys, actionKeys = keyTable("id invocationId author branch timestamp content partial turnComplete interrupted " +
	"errorCode errorMessage finishReason usageMetadata groundingMetadata citationMetadata modelVersion customMetadata " +
	"longRunningToolIds actions nodeInfo isolationScope avgLogprobs logprobsResult inputTranscription outputTranscription " +
	"cacheMetadata interactionId liveSessionResumptionUpdate"),
	keyTable("stateDelta artifactDelta skipSummarization transferToAgent escalate requestedToolConfirmations compaction " +
		"rewindBeforeInvocationId requestedAuthConfigs endOfAgent agentState renderUiWidgets setModelResponse")

// free holds the keys, in any spelling, below which names are the user's and stay.
var free = keyTable("args response stateDelta artifactDelta customMetadata partMetadata payload agentState data")

// snakeParts are the keys that a part in snake_case has one of, if it has no text.
var snakeParts = []string{`"function_call"`, `"function_response"`, `"inline_data"`, `"file_data"`, `"executable_code"`, `"code_execution_result"`}

func keyTable(names string) map[string]string {
	table := map[string]string{}
	for name := range strings.FieldsSeq(names) {
		table[folded(name)] = name
	}
	return table
}

func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// foreign reports whether the event has a known key in another spelling, or a part that nothing was
// found in and that may have.
func foreign(p *plain) bool {
	if p.Content != nil {
		for _, part := range p.Content.Parts {
			if part != nil && reflect.ValueOf(*part).IsZero() {
				return true
			}
		}
	}
	for name := range p.Extra {
		if known := eventKeys[folded(name)]; known != "" && known != name {
			return true
		}
	}
	for name := range p.Actions.Extra {
		if known := actionKeys[folded(name)]; known != "" && known != name {
			return true
		}
	}
	return false
}

// canonical returns a foreign event in the one form, and any other event as it is.
func canonical(data jsontext.Value) (jsontext.Value, error) {
	var keys struct {
		Extra   map[string]jsontext.Value `json:",embed"`
		Actions struct {
			Extra map[string]jsontext.Value `json:",embed"`
		} `json:"actions"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(data, &keys, decoding); err != nil {
		return nil, err
	}
	spelled := foreign(&plain{Extra: keys.Extra, Actions: Actions{Extra: keys.Actions.Extra}})
	for _, name := range snakeParts {
		spelled = spelled || bytes.Contains(keys.Content, []byte(name))
	}
	if !spelled {
		return data, nil
	}
	return rewrite(data, func(name string, value jsontext.Value) (string, jsontext.Value, error) {
		if known := eventKeys[folded(name)]; known != "" {
			name = known
		}
		var err error
		switch {
		case name == "actions" && value.Kind() == '{':
			value, err = rewrite(value, func(name string, value jsontext.Value) (string, jsontext.Value, error) {
				if known := actionKeys[folded(name)]; known != "" {
					name = known
				}
				if free[folded(name)] != "" {
					return name, value, nil
				}
				value, err := camelled(value, name == "requestedToolConfirmations")
				return name, value, err
			})
		case name == "content" && value.Kind() == '{':
			if value, err = camelled(value, false); err == nil {
				value, err = rewrite(value, func(name string, value jsontext.Value) (string, jsontext.Value, error) {
					if name == "parts" {
						value, err = rewriteAll(value, part)
					}
					return name, value, err
				})
			}
		case name == "finishReason" && value.Kind() == '"':
			value = jsontext.Value(upperSnake(string(value)))
		case free[folded(name)] == "" && eventKeys[folded(name)] != "":
			value, err = camelled(value, false)
		}
		return name, value, err
	})
}

// rewrite returns an object with every member as edit makes it.
func rewrite(object jsontext.Value, edit func(name string, value jsontext.Value) (string, jsontext.Value, error)) (jsontext.Value, error) {
	list, err := members(object)
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for i, m := range list {
		name, value, err := edit(m.name, m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), value...)
	}
	return append(out, '}'), nil
}

func rewriteAll(array jsontext.Value, edit func(jsontext.Value) (jsontext.Value, error)) (jsontext.Value, error) {
	var list []jsontext.Value
	if err := json.Unmarshal(array, &list, decoding); err != nil {
		return nil, err
	}
	for i, v := range list {
		var err error
		if list[i], err = edit(v.Clone()); err != nil {
			return nil, err
		}
	}
	return json.Marshal(list, encoding)
}

// camelled returns the value with all names below in camelCase, but what is below free ones. ids says
// that the value's own names are ids.
func camelled(value jsontext.Value, ids bool) (jsontext.Value, error) {
	switch value.Kind() {
	case '[':
		return rewriteAll(value, func(v jsontext.Value) (jsontext.Value, error) { return camelled(v, false) })
	case '{':
		return rewrite(value, func(name string, value jsontext.Value) (string, jsontext.Value, error) {
			var err error
			if free[folded(name)] == "" {
				value, err = camelled(value, false)
			}
			if !ids {
				name = camel(name)
			}
			return name, value, err
		})
	}
	return value, nil
}

func camel(name string) string {
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
