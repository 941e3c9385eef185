package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// functionCalls are those of an answer. Some may not be whole yet.
type functionCalls []*functionCall

type functionCall struct {
	index    *int
	id, name string
	args     strings.Builder
}

// whole adds a call that is whole.
func (cs *functionCalls) whole(t toolCall) {
	c := &functionCall{index: t.Index, id: t.ID, name: t.Function.Name}
	c.args.WriteString(string(t.Function.Arguments))
	*cs = append(*cs, c)
}

// fragment adds a fragment of a call: to the last call with its index, unless it begins another.
// Some servers give every call the index 0, or none; some send the name, or the id, with every
// fragment.
func (cs *functionCalls) fragment(t toolCall) {
	c := cs.last(t.Index)
	if c == nil || t.begins(c) {
		cs.whole(t)
		return
	}
	if c.id == "" {
		c.id = t.ID
	}
	if c.name == "" {
		c.name = t.Function.Name
	}
	c.args.WriteString(string(t.Function.Arguments))
}

func (cs functionCalls) last(index *int) *functionCall {
	for i := len(cs) - 1; i >= 0; i-- {
		if c := cs[i]; index == nil || c.index == nil || *c.index == *index {
			return c
		}
	}
	return nil
}

// begins reports whether a fragment begins another call than c, whose index it shares.
func (t *toolCall) begins(c *functionCall) bool {
	switch {
	case t.ID != "" && c.id != "":
		return t.ID != c.id
	case t.ID != "" || t.Function.Name == "" || c.name == "":
		return false
	}
	return t.Function.Name != c.name || json.Valid([]byte(c.args.String()))
}

// parts returns the calls as parts, or an error if one of them cannot be executed.
func (cs functionCalls) parts() ([]*genai.Part, error) {
	var parts []*genai.Part
	for _, c := range cs {
		args, err := c.arguments()
		if err != nil {
			return nil, err
		}
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{
			ID:   c.id,
			Name: c.name,
			Args: args,
		}})
	}
	return parts, nil
}

func (c *functionCall) arguments() (map[string]any, error) {
	if c.name == "" {
		return nil, errors.New("the model has called a function without a name")
	}
	text := strings.TrimSpace(c.args.String())
	if text == "" { // of a function without parameters
		return map[string]any{}, nil
	}
	v, err := session.DecodeValue([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the model has called %s with arguments that are not JSON", c.name)
	}
	args, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the model has called %s with arguments that are not a JSON object", c.name)
	}
	return args, nil
}
