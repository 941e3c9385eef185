// Package model defines the interface of language models: requests, responses and errors. The
// packages below it implement it; package agent/llm uses it.
//
// A new provider: a package below this one with a New that returns a Model, and its prefix in package config. What a request
// or a response newly carries is a field of Request or Response; package agent/llm fills it in, or reads it.
package model

import (
	"context"
	"iter"

	"github.com/huandu/go-clone"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Model is a language model. It must be safe for concurrent use.
type Model interface {
	// Generate asks the model. The last response that it yields is the whole answer. If the request
	// asks for a stream, and the model can stream, partial responses come before it. Joined, their
	// texts are the beginning of the whole answer; a Collector joins them.
	//
	// A call that fails ends with a nil response and an error, an *Error if the failure has a code.
	// A stream that ends early has failed; an answer that the model cut short or blocked is a
	// response with an ErrorCode. Nothing is yielded after an error or a whole response. When ctx
	// is done, Generate ends with its error; when yield returns false, it ends.
	Generate(ctx context.Context, req *Request) iter.Seq2[*Response, error]
}

// A Named model says what its calls are called in traces and metrics.
type Named interface {
	// Named returns the provider, as OpenTelemetry's gen_ai.provider.name has it, and the model's name.
	Named() (provider, name string)
}

// A Request is one call of a model.
type Request struct {
	// Agent is the name of the agent that asks, Branch is its branch. An event that a plugin emits
	// in place of the answer gets this branch.
	Agent, Branch string
	// Model names the model; "" leaves it to the Model that is called.
	Model string
	// Contents is the conversation, oldest first. What they point to is shared with the log: to change a call, a response
	// or data, put a changed copy in its place. A plugin gets contents and parts that are the request's own; a Model
	// gets those of the log where no plugin has BeforeModel, and changes nothing.
	Contents []*genai.Content
	// Config has the system instruction, the tools and the parameters.
	Config *genai.GenerateContentConfig
	// Stream asks for partial responses.
	Stream bool
}

// Clone returns a copy that shares nothing with r but functions.
func (r *Request) Clone() *Request { return clone.Clone(r).(*Request) }

// A Response is what a model answers, or, if it is partial, what came since the partial one before
// it.
type Response struct {
	Content *genai.Content
	Partial bool
	// ErrorCode tells programs that the answer is incomplete or missing, and why; ErrorMessage
	// tells people. It is the finish reason (MAX_TOKENS, SAFETY, …) or the reason why the prompt
	// was blocked.
	ErrorCode, ErrorMessage string
	// FinishReason is why the model stopped; STOP if it was done.
	FinishReason      genai.FinishReason
	UsageMetadata     *genai.GenerateContentResponseUsageMetadata
	GroundingMetadata *genai.GroundingMetadata
	CitationMetadata  *genai.CitationMetadata
	// ModelVersion is the model that answered, as it calls itself.
	ModelVersion string
}

// Event returns what the response says as an event, to be yielded by an agent, or emitted by a
// plugin that asks a model itself.
func (r *Response) Event() *session.Event {
	return &session.Event{
		Content:           r.Content,
		Partial:           r.Partial,
		ErrorCode:         r.ErrorCode,
		ErrorMessage:      r.ErrorMessage,
		FinishReason:      r.FinishReason,
		UsageMetadata:     r.UsageMetadata,
		GroundingMetadata: r.GroundingMetadata,
		CitationMetadata:  r.CitationMetadata,
		ModelVersion:      r.ModelVersion,
	}
}

// CallIDPrefix begins the ids that agents give to function calls to which the model gave none. A
// Model whose provider did not make these ids does not send them to it.
const CallIDPrefix = "plughook-"

// Error codes of failed calls for which the provider gave no code. All other codes are the
// provider's, translated to those of Google's API: RESOURCE_EXHAUSTED, UNAVAILABLE,
// INVALID_ARGUMENT, UNAUTHENTICATED and so on.
const (
	Failed     = "MODEL_ERROR" // anything else
	Unfinished = "UNFINISHED"  // the stream ended before the model said that it was done
	NoAnswer   = "NO_ANSWER"   // the response has nothing in it, and no reason
)

// An Error is a failed call of a model. Its text has no key and no header.
type Error struct {
	// Code says what failed, for programs.
	Code string
	// Status is the HTTP status, 0 if there is none.
	Status int
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return "model: " + e.Code
	}
	return "model: " + e.Code + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
