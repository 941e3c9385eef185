package config

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
	"google.golang.org/genai"
)

// node makes a node that asks.
func (a *askConfig) node(name string) *workflow.Node {
	return workflow.Func(name, func(ctx context.Context, r *workflow.Run, output any) (any, error) {
		message, err := a.text(output, r.Invocation().State)
		if err != nil {
			return nil, err
		}
		form := a.Schema
		if len(form) == 0 {
			form = map[string]any{"type": "string"}
		}
		if len(form) == 1 { // the question's call has the schema
			switch form["type"] {
			case "string":
				return workflow.Ask[string](ctx, r, questionName, message)
			case "boolean":
				return workflow.Ask[bool](ctx, r, questionName, message)
			case "number":
				return workflow.Ask[float64](ctx, r, questionName, message)
			case "integer":
				return workflow.Ask[int64](ctx, r, questionName, message)
			}
		}
		return a.askForm(ctx, r, message)
	})
}

// questionName is what a node of a file calls its question.
const questionName = "answer"

// askForm asks for an answer that fits the schema, until one does.
func (a *askConfig) askForm(ctx context.Context, r *workflow.Run, message string) (any, error) {
	fits, err := tool.Schema(a.Schema)
	if err != nil {
		return nil, err
	}
	message += "\n" + a.form()
	said := message
	name := questionName
	for n := 2; ; n++ {
		answer, err := workflow.Ask[any](ctx, r, name, said)
		if err != nil {
			return nil, err
		}
		if err = fits(ctx, answer); err == nil {
			return answer, nil
		}
		if text, ok := answer.(string); ok {
			value, parseErr := session.DecodeValue([]byte(text))
			if parseErr == nil && fits(ctx, value) == nil {
				return value, nil
			}
		}
		said = fmt.Sprintf("%s\n(The answer before was refused: %v)", message, err)
		name = fmt.Sprintf("%s-%d", questionName, n)
	}
}

// form says what answers fit the schema.
func (a *askConfig) form() string {
	if list, ok := a.Schema["enum"].([]any); ok {
		var words []string
		for _, word := range list {
			words = append(words, fmt.Sprint(word))
		}
		return "One of: " + strings.Join(words, ", ")
	}
	data, err := json.Marshal(a.Schema)
	if err != nil {
		return ""
	}
	return "The answer is JSON with the schema " + string(data)
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

var placeholder = regexp.MustCompile(`\{([a-zA-Z_][a-zA-Z0-9_:]*)(\?)?\}`)

// text returns the message with the values in it.
func (a *askConfig) text(output any, state map[string]any) (string, error) {
	var missing error
	text := placeholder.ReplaceAllStringFunc(a.Message, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		value, ok := state[m[1]]
		if m[1] == "output" {
			value = spoken(output)
			ok = true
		}
		switch text, isText := value.(string); {
		case !ok && m[2] == "":
			missing = fmt.Errorf("the message has {%s}, and the state has no such key; those it has: %s", m[1],
				strings.Join(slices.Sorted(maps.Keys(state)), ", "))
			return ""
		case value == nil:
			return ""
		case isText:
			return text
		}
		data, err := json.Marshal(value)
		if err != nil {
			missing = err
		}
		return string(data)
	})
	return text, missing
}
