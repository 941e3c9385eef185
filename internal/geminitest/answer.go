package geminitest

import (
	"encoding/base64"
	"maps"
	"net/http"
)

// An Answer is what the server answers to one request: a Part, a Reply, a Func, or one of them Forever.
type Answer interface{ reply(*Request) Reply }

// A Part is one part of a content as it is on the wire, such as {"text": "hello"}. As an Answer it is the
// whole of what the model says.
type Part map[string]any

func (p Part) reply(*Request) Reply { return Parts(p) }

// Text returns a part with text.
func Text(text string) Part { return Part{"text": text} }

// Thought returns a part with a thought's text.
func Thought(text string) Part { return Part{"text": text, "thought": true} }

// Call returns a part with a function call. It has no id, as the Gemini API gives none.
func Call(name string, args map[string]any) Part {
	return Part{"functionCall": map[string]any{"name": name, "args": args}}
}

// ID returns the part, a function call, with an id.
func (p Part) ID(id string) Part {
	call, _ := p["functionCall"].(map[string]any)
	call = maps.Clone(call)
	call["id"] = id
	return p.with("functionCall", call)
}

// Signed returns the part with a thought's signature. The server refuses a request in whose last turn a
// call that it has signed comes back with another signature or none, as the API does.
func (p Part) Signed(signature []byte) Part {
	return p.with("thoughtSignature", base64.StdEncoding.EncodeToString(signature))
}

func (p Part) with(key string, value any) Part {
	p = maps.Clone(p)
	p[key] = value
	return p
}

// A Func makes the answer to one request. It may block until the request's Context is done.
type Func func(*Request) Answer

func (f Func) reply(r *Request) Reply {
	a := f(r)
	if a == nil {
		return Status(http.StatusBadRequest, "geminitest: the Func of the script has no answer to this request")
	}
	return a.reply(r)
}

// Forever returns an answer that the script never goes past.
func Forever(a Answer) Answer { return forever{a} }

type forever struct{ Answer }

// A Reply is one answer in full. The zero Reply is a response without candidates.
type Reply struct {
	// Chunks are the parts of each frame of a stream. A request that asks for no stream gets them all in
	// one response.
	Chunks [][]Part
	// FinishReason is why the model stopped; "" is STOP. FinishMessage explains it.
	FinishReason, FinishMessage string
	// Unfinished leaves the finish reason out.
	Unfinished bool
	// Candidate has further keys of the candidate with the finish reason, such as "groundingMetadata".
	Candidate map[string]any
	// BlockReason says that the prompt was blocked, and why.
	BlockReason string
	// Usage is what is counted; nil counts a token for every four bytes.
	Usage *Usage

	// Header is added to the response's.
	Header http.Header
	// Hold, if not nil, keeps back what follows the chunks of a stream, and everything else, until it is
	// closed or a value is sent to it, or the client or the server is gone.
	Hold <-chan struct{}
	// Ping sends comments between the frames of a stream.
	Ping bool
	// Cut breaks the connection where the finish reason would be sent: after the chunks of a stream, in
	// the middle of a response that is no stream.
	Cut bool
	// Error is what the request fails with: an HTTP status, or, after the chunks of a stream, a frame.
	Error *Error
	// Raw, if not "", is sent as the whole body, whatever it is.
	Raw string
}

func (r Reply) reply(*Request) Reply { return r }

// Usage is the number of tokens. The prompt's include the cached ones.
type Usage struct{ Prompt, Cached, Candidates, Thoughts int }

// An Error is an error as the API tells it.
type Error struct {
	// Code is the HTTP status.
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Status is the error's name; "" is the one that goes with the code.
	Status string `json:"status"`
}

// Parts returns an answer of several parts, which a stream has in one frame. None make a candidate that
// says nothing.
func Parts(parts ...Part) Reply { return Reply{Chunks: [][]Part{parts}} }

// Stream returns an answer that has one frame for each part.
func Stream(parts ...Part) Reply {
	var r Reply
	for _, p := range parts {
		r.Chunks = append(r.Chunks, []Part{p})
	}
	return r
}

// Status returns an error with an HTTP status, such as 429.
func Status(code int, message string) Reply {
	return Reply{Error: &Error{Code: code, Message: message}}
}

// Blocked returns an answer to a prompt that is refused, for a reason such as "SAFETY".
func Blocked(reason string) Reply { return Reply{BlockReason: reason} }

// Raw returns an answer with this body.
func Raw(body string) Reply { return Reply{Raw: body} }
