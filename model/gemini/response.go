package gemini

import (
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

// A response is what has come of one so far.
type response struct {
	collector model.Collector
	blocked   *genai.GenerateContentResponsePromptFeedback
	chunks    int
	candidate bool
	finish    genai.FinishReason
	message   string
	hide      func(string) string
}

// add takes a chunk and returns it as a partial response.
func (a *response) add(chunk *genai.GenerateContentResponse, e *exchange) *model.Response {
	a.chunks++
	r := &model.Response{
		Partial:       true,
		UsageMetadata: chunk.UsageMetadata,
		ModelVersion:  chunk.ModelVersion,
	}
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" {
		a.blocked = f
	}
	for _, c := range chunk.Candidates {
		if c == nil || c.Index != 0 {
			continue
		}
		a.candidate = true
		r.FinishReason = c.FinishReason
		r.GroundingMetadata = c.GroundingMetadata
		r.CitationMetadata = c.CitationMetadata
		if c.FinishReason != "" {
			a.finish = c.FinishReason
			a.message = a.hide(e.finishMessage)
		}
		r.Content = withoutEmptyParts(c.Content)
		e.exact(r.Content)
	}
	a.collector.Add(r)
	return r
}

// withoutEmptyParts returns a content without parts that say nothing, nil if there are no others.
func withoutEmptyParts(c *genai.Content) *genai.Content {
	if c == nil {
		return nil
	}
	kept := &genai.Content{Role: genai.RoleModel}
	for _, p := range c.Parts {
		if !empty(p) {
			kept.Parts = append(kept.Parts, p)
		}
	}
	if kept.Parts == nil {
		return nil
	}
	return kept
}

// empty reports whether a part says nothing: {"text": ""}, which ends a stream, is decoded as one.
func empty(p *genai.Part) bool {
	return p == nil || reflect.ValueOf(*p).IsZero() || reflect.DeepEqual(*p, genai.Part{Thought: true})
}

// finished reports whether the model has said that it was done.
func (a *response) finished() bool { return a.finish != "" || a.blocked != nil }

// whole returns the whole response once all chunks are there.
func (a *response) whole() (*model.Response, error) {
	r := a.collector.Whole()
	switch {
	case a.blocked != nil:
		r.ErrorCode = string(a.blocked.BlockReason)
		r.ErrorMessage = explain("the prompt was blocked; change what the conversation says, or the safety settings", a.hide(a.blocked.BlockReasonMessage))
	case !a.candidate && a.chunks > 0:
		return nil, &model.Error{Code: model.NoAnswer,
			Err: errors.New("the server has sent no candidate, and no reason")}
	case a.finish == "":
		return nil, &model.Error{Code: model.Unfinished,
			Err: errors.New("the answer ended before the model gave a reason to finish; ask again")}
	case a.finish != genai.FinishReasonStop:
		r.ErrorCode = string(a.finish)
		r.ErrorMessage = explain(finishes[a.finish], a.message)
	case r.Content == nil:
		return nil, &model.Error{Code: model.NoAnswer,
			Err: errors.New("the model was done but has said nothing; ask again")}
	case !speaks(r.Content):
		r.ErrorCode = model.NoAnswer
		r.ErrorMessage = "the model has thought and said nothing; ask again"
	}
	return r, nil
}

// speaks reports whether there is more than thoughts.
func speaks(c *genai.Content) bool {
	for _, p := range c.Parts {
		if !p.Thought && (p.Text != "" || !hasText(p)) {
			return true
		}
	}
	return false
}

func explain(text, detail string) string {
	if text == "" {
		text = "the model stopped for this reason"
	}
	if detail == "" {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, detail)
}

// finishes says what a reason to finish means, and what to do.
var finishes = map[genai.FinishReason]string{
	genai.FinishReasonMaxTokens:              "the answer was cut off at the limit of output tokens; raise maxOutputTokens, or ask for less",
	genai.FinishReasonSafety:                 "the answer was cut off by a safety filter; change what is asked, or the safety settings",
	genai.FinishReasonRecitation:             "the answer was cut off because it recites a source; ask for it in other words",
	genai.FinishReasonLanguage:               "the model does not support the language; ask in another",
	genai.FinishReasonBlocklist:              "the answer was cut off at a forbidden term",
	genai.FinishReasonProhibitedContent:      "the answer was cut off because its content is prohibited",
	genai.FinishReasonSPII:                   "the answer was cut off because it may identify a person",
	genai.FinishReasonMalformedFunctionCall:  "the model made a function call that is not valid; ask again, or simplify the tool's parameters",
	genai.FinishReasonUnexpectedToolCall:     "the model called a tool that it was not given; ask again, or allow the call",
	genai.FinishReasonTooManyToolCalls:       "the model called too many tools in a row",
	genai.FinishReasonImageSafety:            "the image was withheld by a safety filter",
	genai.FinishReasonImageProhibitedContent: "the image was withheld because its content is prohibited",
	genai.FinishReasonImageRecitation:        "the image was withheld because it may recite a source",
	genai.FinishReasonNoImage:                "the model made no image; ask for one more clearly",
	genai.FinishReasonContinuation:           "the answer stopped at the limit of one request; ask the model to go on",
}
