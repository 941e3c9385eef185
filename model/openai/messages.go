package openai

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"
)

// conversation translates contents to messages.
type conversation struct {
	messages []message
	user     []contentPart       // of a message that is not ended yet
	pictured bool                // it has more than text
	made     int                 // how many ids callID has made
	open     map[string][]string // made ids of calls without a response, by function
}

// supportedPart returns an error if a part has something that cannot be sent, and is no hint.
func supportedPart(p *genai.Part) error {
	return supported("a part", *p, "Text", "Thought", "ThoughtSignature", "FunctionCall",
		"FunctionResponse", "InlineData", "FileData",
		"MediaResolution", "VideoMetadata", "PartMetadata", "MediaProcessing", "SpeechMetadata")
}

// system adds the system instruction.
func (b *conversation) system(c *genai.Content) error {
	if c == nil {
		return nil
	}
	var texts []string
	for _, p := range c.Parts {
		switch {
		case p == nil:
		case supportedPart(p) != nil || p.FunctionCall != nil || p.FunctionResponse != nil ||
			p.InlineData != nil || p.FileData != nil:
			return errors.New("the system instruction has more than text")
		case p.Text != "" && !p.Thought:
			texts = append(texts, p.Text)
		}
	}
	if len(texts) > 0 {
		b.messages = append(b.messages, message{Role: "system", Content: strings.Join(texts, "\n\n")})
	}
	return nil
}

// add adds a content. Several contents of the user in a row become one message: the templates of
// many local models need user and model to alternate.
func (b *conversation) add(c *genai.Content) error {
	if c == nil {
		return nil
	}
	for _, p := range c.Parts {
		if p != nil {
			if err := supportedPart(p); err != nil {
				return err
			}
		}
	}
	switch c.Role {
	case genai.RoleModel:
		return b.assistant(c.Parts)
	case genai.RoleUser, "":
	default:
		return fmt.Errorf("a content's role is %q; it can be user or model", c.Role)
	}
	for _, p := range c.Parts { // responses first: they follow their calls
		if p != nil && p.FunctionResponse != nil {
			if err := b.response(p.FunctionResponse); err != nil {
				return err
			}
		}
	}
	for _, p := range c.Parts {
		if p != nil && p.FunctionResponse == nil && !p.Thought {
			if err := b.userPart(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// userPart adds a part of a user's message.
func (b *conversation) userPart(p *genai.Part) error {
	image := ""
	switch {
	case p.FunctionCall != nil:
		return fmt.Errorf("the call of %s has the role user; calls are the model's", p.FunctionCall.Name)
	case p.InlineData != nil:
		if !isImage(p.InlineData.MIMEType) {
			return fmt.Errorf("inline data of type %q cannot be sent; only images can",
				p.InlineData.MIMEType)
		}
		image = "data:" + p.InlineData.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(p.InlineData.Data)
	case p.FileData != nil:
		image = p.FileData.FileURI
		if !isImage(p.FileData.MIMEType) ||
			!strings.HasPrefix(image, "https://") && !strings.HasPrefix(image, "http://") {
			return fmt.Errorf("the file of type %q cannot be sent; only images at an http or https address can", p.FileData.MIMEType)
		}
	}
	if p.Text != "" {
		b.user = append(b.user, contentPart{Type: "text", Text: p.Text})
	}
	if image != "" {
		b.user = append(b.user, contentPart{Type: "image_url", ImageURL: &imageURL{URL: image}})
		b.pictured = true
	}
	return nil
}

func isImage(mime string) bool { return strings.HasPrefix(strings.ToLower(mime), "image/") }

// endUser ends the user's message. If it has only texts, it is sent as one text, which every server
// accepts.
func (b *conversation) endUser() {
	switch {
	case len(b.user) == 0:
		return
	case b.pictured:
		b.messages = append(b.messages, message{Role: "user", Content: b.user})
	default:
		var texts []string
		for _, p := range b.user {
			texts = append(texts, p.Text)
		}
		b.messages = append(b.messages, message{Role: "user", Content: strings.Join(texts, "\n\n")})
	}
	b.user = nil
	b.pictured = false
}

// assistant adds what the model said and called, thoughts left out.
func (b *conversation) assistant(parts []*genai.Part) error {
	b.endUser()
	var text string
	m := message{Role: "assistant"}
	for _, p := range parts {
		switch {
		case p == nil:
		case p.FunctionResponse != nil:
			return fmt.Errorf("the response of %s has the role model; responses are the user's",
				p.FunctionResponse.Name)
		case p.InlineData != nil || p.FileData != nil:
			return errors.New("a model's turn has inline data or a file, which cannot be sent; only text and calls can")
		case p.FunctionCall != nil:
			args := []byte("{}")
			if p.FunctionCall.Args != nil {
				var err error
				if args, err = toJSON(p.FunctionCall.Args); err != nil {
					return fmt.Errorf("the arguments of the call of %s: %w", p.FunctionCall.Name, err)
				}
			}
			m.ToolCalls = append(m.ToolCalls, sentToolCall{
				ID:       b.callID(p.FunctionCall),
				Type:     "function",
				Function: sentFunction{Name: p.FunctionCall.Name, Arguments: string(args)},
			})
		case !p.Thought:
			text += p.Text
		}
	}
	switch {
	case text != "":
		m.Content = text
	case len(m.ToolCalls) > 0: // Content is null
	default:
		return nil
	}
	b.messages = append(b.messages, m)
	return nil
}

// response adds a function's response, a message of its own.
func (b *conversation) response(r *genai.FunctionResponse) error {
	b.endUser()
	if len(r.Parts) > 0 {
		return fmt.Errorf("the response of %s has media, which cannot be sent; only JSON can", r.Name)
	}
	id := short40(r.ID)
	if id == "" {
		if len(b.open[r.Name]) == 0 {
			return fmt.Errorf("the response of %s has no id, and no call without one before it", r.Name)
		}
		id = b.open[r.Name][0]
		b.open[r.Name] = b.open[r.Name][1:]
	}
	text := []byte("{}")
	if r.Response != nil {
		var err error
		if text, err = toJSON(r.Response); err != nil {
			return fmt.Errorf("the response of %s: %w", r.Name, err)
		}
	}
	b.messages = append(b.messages, message{Role: "tool", Content: string(text), ToolCallID: id})
	return nil
}

// callID returns the id that a call is sent with. Calls without an id get a number.
func (b *conversation) callID(c *genai.FunctionCall) string {
	if c.ID != "" {
		return short40(c.ID)
	}
	b.made++
	id := fmt.Sprintf("plughook-%d", b.made)
	if b.open == nil {
		b.open = map[string][]string{}
	}
	b.open[c.Name] = append(b.open[c.Name], id)
	return id
}

// short40 returns an id that OpenAI takes: 40 bytes at most. A longer one is another model's.
func short40(id string) string {
	if len(id) <= 40 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:])[:35]
}
