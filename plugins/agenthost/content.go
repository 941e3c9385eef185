package agenthost

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// isVisible reports whether a part is shown: neither a call nor a response nor a thought.
func isVisible(p *genai.Part) bool {
	return p != nil && p.FunctionCall == nil && p.FunctionResponse == nil && !p.Thought
}

func visible(e *session.Event) (parts []*genai.Part) {
	for _, p := range e.Parts() {
		if isVisible(p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// rawContent returns a content's JSON as the log has it, in which long numbers are exact.
func rawContent(c *genai.Content) jsontext.Value {
	var e struct {
		Content jsontext.Value `json:"content"`
	}
	data, err := json.Marshal(&session.Event{Content: c})
	if err != nil || json.Unmarshal(data, &e) != nil {
		return nil
	}
	return e.Content
}

// rawParts returns the JSON of parts, nil if one has none.
func rawParts(parts []*genai.Part) []jsontext.Value {
	var c struct {
		Parts []jsontext.Value `json:"parts"`
	}
	if raw := rawContent(&genai.Content{Parts: parts}); raw == nil || json.Unmarshal(raw, &c) != nil {
		return nil
	}
	return c.Parts
}

// contentOf returns parts as contexts have them: a text if they are nothing else, or an object with the parts.
func contentOf(parts []*genai.Part) jsontext.Value {
	text := ""
	for _, p := range parts {
		if !isText(p) {
			return encode(map[string]any{"parts": rawParts(parts)})
		}
		text += p.Text
	}
	return encode(text)
}

func isText(p *genai.Part) bool {
	return p.Text != "" && !p.Thought && p.FunctionCall == nil && p.FunctionResponse == nil && p.InlineData == nil &&
		p.FileData == nil && p.ExecutableCode == nil && p.CodeExecutionResult == nil
}

var errContent = errors.New("the content is neither a text nor an object with parts")

// partsOf reads the member "content" of an object back.
func partsOf(object jsontext.Value, role string) ([]*genai.Part, error) {
	var target struct {
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(object, &target); err != nil {
		return nil, errContent
	}
	return readParts(target.Content, role)
}

func readParts(content jsontext.Value, role string) ([]*genai.Part, error) {
	switch content.Kind() {
	case '"':
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, errContent
		}
		return []*genai.Part{{Text: text}}, nil
	case '{':
		var members struct {
			Parts jsontext.Value `json:"parts"`
		}
		var e session.Event
		err := json.Unmarshal(content, &members, json.RejectUnknownMembers(true))
		if err == nil {
			err = json.Unmarshal(encode(map[string]any{"content": map[string]any{"role": role, "parts": members.Parts}}), &e)
		}
		if err != nil || len(e.Parts()) == 0 {
			return nil, errContent
		}
		return e.Content.Parts, nil
	}
	return nil, errContent
}

// beginsWith returns an error if a target's content is none, or does not begin with what was shown of it.
func beginsWith(target jsontext.Value, role, shown string) error {
	parts, err := partsOf(target, role)
	if err == nil && !strings.HasPrefix(textOf(parts), shown) {
		return errors.New("what was shown is not the beginning of it")
	}
	return err
}

func textOf(parts []*genai.Part) (text string) {
	for _, p := range parts {
		if !p.Thought {
			text += p.Text
		}
	}
	return text
}

// A message is one of a model request, as contexts have it.
type message struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
}

// messagesOf returns the messages of a request. The system instruction is the first.
func messagesOf(req *model.Request) []message {
	list := []message{}
	if req.Config != nil && req.Config.SystemInstruction != nil {
		list = append(list, messageOf("system", req.Config.SystemInstruction))
	}
	for _, c := range req.Contents {
		if c != nil {
			list = append(list, messageOf(c.Role, c))
		}
	}
	return list
}

func messageOf(role string, c *genai.Content) message {
	var parts []*genai.Part
	for _, p := range c.Parts {
		if p != nil {
			parts = append(parts, p)
		}
	}
	return message{Role: role, Content: contentOf(parts)}
}

// setMessages changes a request to a target. A message that is not changed keeps its content as it is.
func setMessages(req *model.Request, before []message, target jsontext.Value) error {
	var now []message
	if err := json.Unmarshal(target, &now); err != nil {
		return errContent
	}
	var kept []*genai.Content // by index of before, nil for the system instruction
	if len(before) > 0 && before[0].Role == "system" {
		kept = append(kept, nil)
	}
	for _, c := range req.Contents {
		if c != nil {
			kept = append(kept, c)
		}
	}
	contents := []*genai.Content{}
	var system *genai.Content
	for i, m := range now {
		if i < len(before) && m.Role == before[i].Role && string(m.Content) == string(before[i].Content) {
			if kept[i] != nil {
				contents = append(contents, kept[i])
			} else {
				system = req.Config.SystemInstruction
			}
			continue
		}
		parts, err := readParts(m.Content, m.Role)
		switch {
		case err != nil:
			return err
		case m.Role == "system" && i == 0:
			system = &genai.Content{Parts: parts}
		case m.Role == genai.RoleUser || m.Role == genai.RoleModel:
			contents = append(contents, &genai.Content{Role: m.Role, Parts: parts})
		default:
			return errors.New("a message's role is neither user nor model")
		}
	}
	if system != nil && req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	if req.Config != nil {
		config := *req.Config
		config.SystemInstruction = system
		req.Config = &config
	}
	req.Contents = contents
	return nil
}
