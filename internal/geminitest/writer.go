package geminitest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
)

// A writer sends one reply.
type writer struct {
	w       http.ResponseWriter
	server  *Server
	request *Request
	reply   Reply
	number  int
}

func (w *writer) write() {
	maps.Copy(w.w.Header(), w.reply.Header)
	streams := w.request.Method == "streamGenerateContent"
	if _, err := json.Marshal([]any{w.reply.Chunks, w.reply.Candidate, w.reply.Error}); err != nil {
		refuse(w.w, &Error{Code: 400, Message: fmt.Sprintf("geminitest: the answer to request %d is not JSON: %v", w.number, err)})
		return
	}
	if !streams || len(w.reply.Chunks) == 0 {
		w.hold()
	}
	switch r := &w.reply; {
	case r.Raw != "":
		contentType := "application/json; charset=UTF-8"
		if streams {
			contentType = "text/event-stream"
		}
		if w.w.Header().Get("Content-Type") == "" {
			w.w.Header().Set("Content-Type", contentType)
		}
		_, _ = io.WriteString(w.w, r.Raw) // fails if the client has left
		w.cut()
	case r.Error != nil && (!streams || len(r.Chunks) == 0):
		refuse(w.w, r.Error)
	case streams:
		w.stream()
	default:
		w.whole()
	}
}

func (w *writer) hold() {
	if w.reply.Hold == nil {
		return
	}
	select {
	case <-w.reply.Hold:
	case <-w.server.closed:
	case <-w.request.Context.Done():
		panic(http.ErrAbortHandler) // nobody is there to answer
	}
}

// cut breaks the connection if that is asked for.
func (w *writer) cut() {
	if w.reply.Cut {
		w.flush()
		panic(http.ErrAbortHandler)
	}
}

func (w *writer) flush() { _ = http.NewResponseController(w.w).Flush() } // fails if the client has left

// whole sends everything as one response.
func (w *writer) whole() {
	frame := w.frame(slices.Concat(w.reply.Chunks...), true)
	if !w.reply.Cut {
		send(w.w, http.StatusOK, frame)
		return
	}
	data, _ := json.Marshal(frame) // write has tried
	w.w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_, _ = w.w.Write(data[:len(data)/2])
	w.cut()
}

// stream sends server-sent events. The last chunk has the finish reason, unless something comes between.
func (w *writer) stream() {
	r := &w.reply
	w.w.Header().Set("Content-Type", "text/event-stream")
	last := len(r.Chunks) - 1
	between := r.Hold != nil || r.Error != nil || r.Cut
	for i, parts := range r.Chunks {
		w.event(w.frame(parts, i == last && !between))
	}
	switch {
	case last < 0:
		w.event(w.frame(nil, true))
	case r.Hold != nil:
		w.hold()
	}
	switch {
	case r.Error != nil:
		w.event(r.Error.frame())
	case r.Cut:
		w.cut()
	case r.Hold != nil && last >= 0:
		w.event(w.frame([]Part{Text("")}, true)) // as the API ends a stream
	}
}

func (w *writer) event(frame map[string]any) {
	data, _ := json.Marshal(frame) // write has tried
	if w.reply.Ping {
		_, _ = fmt.Fprint(w.w, ": ping\r\n\r\n")
	}
	_, _ = fmt.Fprintf(w.w, "data: %s\r\n\r\n", data) // fails if the client has left
	w.flush()
}

// frame returns a response: a candidate if the reply has one, a block reason if it has one.
func (w *writer) frame(parts []Part, last bool) map[string]any {
	r := &w.reply
	frame := map[string]any{"modelVersion": w.request.Model, "responseId": fmt.Sprintf("r%d", w.number), "usageMetadata": w.usage()}
	if r.BlockReason != "" {
		frame["promptFeedback"] = map[string]any{"blockReason": r.BlockReason}
	}
	if len(r.Chunks) == 0 && r.FinishReason == "" {
		return frame
	}
	content := map[string]any{"role": "model"}
	if len(parts) > 0 {
		content["parts"] = parts
	}
	candidate := map[string]any{"content": content, "index": 0}
	if last && !r.Unfinished {
		candidate["finishReason"] = "STOP"
		if r.FinishReason != "" {
			candidate["finishReason"] = r.FinishReason
		}
		if r.FinishMessage != "" {
			candidate["finishMessage"] = r.FinishMessage
		}
	}
	if last {
		maps.Copy(candidate, r.Candidate)
	}
	frame["candidates"] = []any{candidate}
	return frame
}

func (w *writer) usage() map[string]any {
	u := w.reply.Usage
	if u == nil {
		u = &Usage{Prompt: w.request.tokens()}
		for _, parts := range w.reply.Chunks {
			u.Candidates += tokens(parts)
		}
	}
	m := map[string]any{"promptTokenCount": u.Prompt, "candidatesTokenCount": u.Candidates, "totalTokenCount": u.Prompt + u.Candidates + u.Thoughts}
	if u.Cached > 0 {
		m["cachedContentTokenCount"] = u.Cached
	}
	if u.Thoughts > 0 {
		m["thoughtsTokenCount"] = u.Thoughts
	}
	return m
}

// statuses are the names of errors by HTTP status.
var statuses = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
	429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func (e *Error) frame() map[string]any {
	said := *e
	if said.Status == "" {
		said.Status = statuses[e.Code]
	}
	if said.Status == "" {
		said.Status = "UNKNOWN"
	}
	return map[string]any{"error": said}
}
