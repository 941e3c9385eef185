package gemini

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

// A sentRequest is a request as it is sent.
type sentRequest struct {
	model    string
	contents json.RawMessage
	config   genai.GenerateContentConfig
	stream   bool
}

// prepare makes the call that the request asks for.
func (m *gemini) prepare(req *model.Request) (*sentRequest, error) {
	c := &sentRequest{model: cmp.Or(req.Model, m.name), stream: req.Stream}
	if c.model == "" {
		return nil, invalid(errors.New("no model is named; set gemini.Config.Model or Request.Model"))
	}
	if req.Config != nil {
		c.config = *req.Config
	}
	if o := c.config.HTTPOptions; o != nil &&
		(o.BaseURL != "" || o.BaseURLResourceScope != "" || o.APIVersion != "" || o.RetryOptions != nil ||
			o.ExtrasRequestProvider != nil) {
		return nil, invalid(errors.New("a request's HTTPOptions can only have Headers, Timeout and ExtraBody; set the address and the number of attempts in gemini.Config"))
	}
	if t := c.config.ToolConfig; t != nil && t.FunctionCallingConfig != nil &&
		t.FunctionCallingConfig.StreamFunctionCallArguments != nil &&
		*t.FunctionCallingConfig.StreamFunctionCallArguments {
		return nil, invalid(errors.New("streamed arguments of function calls are not supported; leave StreamFunctionCallArguments out"))
	}
	if c.config.CandidateCount > 1 {
		return nil, invalid(errors.New("more than one candidate is not supported; leave CandidateCount out"))
	}
	if on := c.config.AutomaticContinuation; on != nil && *on {
		return nil, invalid(errors.New("an answer is one request; leave AutomaticContinuation out, and ask the model to go on where it stops with CONTINUATION"))
	}
	// or the SDK asks for as long as the server says so
	c.config.AutomaticContinuation = genai.Ptr(false)
	contents := make([]wireContent, 0, len(req.Contents))
	for _, content := range req.Contents {
		if w, ok := wire(content); ok {
			contents = append(contents, w)
		}
	}
	var err error
	if c.contents, err = json.Marshal(contents); err == nil {
		_, err = json.Marshal(c.config) // the SDK drops this error, and everything with it
	}
	if err != nil {
		return nil, invalid(fmt.Errorf("the request is not JSON: %w", err))
	}
	return c, nil
}

func invalid(err error) error { return &model.Error{Code: "INVALID_ARGUMENT", Err: err} }

// fresh returns a config for one attempt, since the SDK changes it. The contents do not pass
// through the SDK, which would round their numbers and leave out empty texts.
func (c *sentRequest) fresh() *genai.GenerateContentConfig {
	config := c.config
	var options genai.HTTPOptions
	if config.HTTPOptions != nil {
		options = *config.HTTPOptions
		options.Headers = options.Headers.Clone()
	}
	if options.Headers == nil {
		options.Headers = http.Header{}
	}
	options.ExtrasRequestProvider = func(body map[string]any) map[string]any {
		body["contents"] = c.contents
		return body
	}
	config.HTTPOptions = &options
	return &config
}

// wireContent, wirePart and wireResponse are genai's types, with fields that the API wants even if
// empty.
type wireContent struct {
	Role  string     `json:"role,omitempty"`
	Parts []wirePart `json:"parts"`
}

type wirePart struct {
	*genai.Part
	Text             *string       `json:"text,omitempty"`
	FunctionResponse *wireResponse `json:"functionResponse,omitempty"`
}

type wireResponse struct {
	*genai.FunctionResponse
	Response map[string]any `json:"response"`
}

// wire returns a content as it is sent, without empty parts. It returns false if nothing is left.
func wire(c *genai.Content) (w wireContent, ok bool) {
	if c == nil {
		return w, false
	}
	w.Role = c.Role
	for _, p := range c.Parts {
		if empty(p) {
			continue
		}
		part := *p
		sent := wirePart{Part: &part}
		if hasText(p) {
			sent.Text = &part.Text
		}
		if call := p.FunctionCall; call != nil && strings.HasPrefix(call.ID, model.CallIDPrefix) {
			unnamed := *call
			unnamed.ID = ""
			part.FunctionCall = &unnamed
		}
		if r := p.FunctionResponse; r != nil {
			response := *r
			if strings.HasPrefix(r.ID, model.CallIDPrefix) {
				response.ID = ""
			}
			sent.FunctionResponse = &wireResponse{FunctionResponse: &response, Response: r.Response}
			if r.Response == nil {
				sent.FunctionResponse.Response = map[string]any{}
			}
		}
		w.Parts = append(w.Parts, sent)
	}
	return w, len(w.Parts) > 0
}

// hasText reports whether the part is a text, perhaps the empty one: whether it is nothing else.
func hasText(p *genai.Part) bool {
	return p.Text != "" || p.FunctionCall == nil && p.FunctionResponse == nil && p.InlineData == nil &&
		p.FileData == nil &&
		p.ExecutableCode == nil && p.CodeExecutionResult == nil && p.ToolCall == nil &&
		p.ToolResponse == nil
}
