package openai

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/tmaxmax/go-sse"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/model"
)

// streamed reports whether an answer is a stream. The server's content type decides, and not the
// request: some servers send the whole answer at once.
func streamed(res *http.Response, asked bool) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/event-stream" || asked && kind != "application/json"
}

// response is what has been read of an answer.
type response struct {
	texts   model.Collector
	calls   functionCalls
	refusal string
	finish  string
	begun   bool // there was a choice
	usage   *genai.GenerateContentResponseUsageMetadata
	version string
}

// whole makes the response of a whole answer.
func (m *chat) whole(body []byte) (*model.Response, error) {
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, m.failed(model.Failed, 0,
			"the answer of %s is not a chat completion: %w", m.url, err)
	}
	if err := m.inBand(c.Error); err != nil {
		return nil, err
	}
	var a response
	a.add(&c, func(c *choice) *reply { return &c.Message }, a.calls.whole)
	if !a.begun {
		return nil, m.failed(model.NoAnswer, 0, "%s answered with no choice", m.url)
	}
	if a.finish == "" { // nothing is missing where the JSON is whole
		a.finish = "stop"
	}
	return m.response(&a)
}

// stream passes on the chunks of an answer and returns the whole response.
func (m *chat) stream(ctx context.Context, res *http.Response,
	partial func(*model.Response) bool) (*model.Response, error) {
	var a response
	done := false
	var broken error
	for event, err := range sse.Read(res.Body, &sse.ReadConfig{MaxEventSize: inbound.MaxBytes}) {
		if err != nil {
			broken = err
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.HasPrefix(event.Data, "[DONE]") {
			done = true
			break
		}
		if event.Data == "" {
			continue
		}
		var c completion
		if err := json.Unmarshal([]byte(event.Data), &c); err != nil {
			return nil, m.failed(model.Failed, 0, "a part of the stream of %s is not a chat completion: %w", m.url, err)
		}
		if err := m.inBand(c.Error); err != nil {
			return nil, err
		}
		parts := a.add(&c, func(c *choice) *reply { return &c.Delta }, a.calls.fragment)
		if len(parts) == 0 {
			continue
		}
		r := &model.Response{
			Content:      genai.NewContentFromParts(parts, genai.RoleModel),
			Partial:      true,
			ModelVersion: a.version,
		}
		if !partial(r) {
			return nil, errLeft
		}
	}
	switch {
	case a.finish != "": // what breaks off then is at most the usage
		return m.response(&a)
	case broken != nil:
		return nil, m.broken(broken)
	case done && !a.begun:
		return nil, m.failed(model.NoAnswer, 0, "%s streamed no choice", m.url)
	}
	return nil, m.failed(model.Unfinished, 0, "%s ended its stream without a finish reason", m.url)
}

// add adds a whole answer or a chunk, and returns the text that is new.
func (a *response) add(c *completion, where func(*choice) *reply,
	addCall func(toolCall)) []*genai.Part {
	if c.Model != "" {
		a.version = c.Model
	}
	if c.Usage != nil {
		a.usage = c.Usage.metadata()
	}
	var parts []*genai.Part
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 { // only one answer was requested
			continue
		}
		a.begun = true
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		s := where(choice)
		thought := s.ReasoningContent
		if thought == "" { // a server that sends both fields sends the same text in both
			thought = s.Reasoning
		}
		if thought != "" {
			parts = append(parts, &genai.Part{Text: thought, Thought: true})
		}
		for _, text := range []string{string(s.Content), s.Refusal} {
			if text != "" {
				parts = append(parts, &genai.Part{Text: text})
			}
		}
		a.refusal += s.Refusal
		for _, t := range s.ToolCalls {
			addCall(t)
		}
	}
	if len(parts) > 0 {
		a.texts.Add(&model.Response{Content: genai.NewContentFromParts(parts, genai.RoleModel)})
	}
	return parts
}

// response makes the response of an answer that has ended.
func (m *chat) response(a *response) (*model.Response, error) {
	r := a.texts.Whole()
	r.UsageMetadata = a.usage
	r.ModelVersion = a.version
	end(r, a)
	calls, err := a.calls.parts()
	if len(calls) > 0 {
		if r.Content == nil {
			r.Content = &genai.Content{Role: genai.RoleModel}
		}
		r.Content.Parts = append(r.Content.Parts, calls...)
	}
	switch {
	case err != nil && r.ErrorCode != "": // the one follows from the other
		r.ErrorMessage += "; " + err.Error()
	case err != nil:
		r.FinishReason = genai.FinishReasonMalformedFunctionCall
		r.ErrorCode = string(r.FinishReason)
		r.ErrorMessage = err.Error()
	case r.Content == nil && r.ErrorCode == "":
		return nil, m.failed(model.NoAnswer, 0, "%s answered with neither text nor calls", m.url)
	}
	return r, nil
}

// end says why the model stopped.
func end(r *model.Response, a *response) {
	switch a.finish {
	case "stop", "tool_calls":
		r.FinishReason = genai.FinishReasonStop
	case "length":
		r.FinishReason = genai.FinishReasonMaxTokens
		r.ErrorMessage = "the answer was cut off: it has reached the limit of tokens"
	case "content_filter":
		r.FinishReason = genai.FinishReasonSafety
		r.ErrorMessage = "the answer was blocked by the server's content filter"
	default:
		r.FinishReason = genai.FinishReasonOther
		r.ErrorMessage = "the model stopped with the reason " + short(a.finish)
	}
	if a.refusal != "" {
		r.FinishReason = genai.FinishReasonSafety
		r.ErrorMessage = "the model refused: " + a.refusal
	}
	if r.FinishReason != genai.FinishReasonStop {
		r.ErrorCode = string(r.FinishReason)
	}
}
