package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// handler runs one turn for each request. Who the user is belongs to whatever authenticates requests; to
// keep the example short, the request says so itself.
type handler struct{ runner *runner.Runner }

type request struct {
	User    string `json:"user"`
	Session string `json:"session"`
	Text    string `json:"text"`
}

// ServeHTTP answers with the turn's events: as JSON Lines, or as server-sent events if the client
// accepts those. What fails before the first event has a status of its own; what fails later is the
// last line, an object with the key "error". When the client leaves, the turn ends.
func (h handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var in request
	body := json.NewDecoder(http.MaxBytesReader(w, req.Body, 1<<20))
	body.DisallowUnknownFields()
	if err := body.Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := session.Key{App: "http", User: in.User, ID: in.Session}
	if err := key.Check(false); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := &stream{w: w, sse: strings.Contains(req.Header.Get("Accept"), "text/event-stream")}
	for event, err := range h.runner.Run(req.Context(), key, session.Message(in.Text), session.RunConfig{Create: true}) {
		if err != nil {
			out.fail(err)
			return
		}
		if out.send(event) != nil {
			return // the client has left; leaving the loop ends the turn
		}
	}
}

// stream writes values as they come.
type stream struct {
	w       http.ResponseWriter
	sse     bool
	started bool
}

func (s *stream) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	kind, format := "application/jsonl", "%s\n"
	if s.sse {
		kind, format = "text/event-stream", "data: %s\n\n"
	}
	if !s.started {
		s.started = true
		s.w.Header().Set("Content-Type", kind)
	}
	if _, err := fmt.Fprintf(s.w, format, data); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// fail tells the client what kind of thing failed. The details are for the log of the server.
func (s *stream) fail(err error) {
	text, code := "the turn failed", http.StatusInternalServerError
	var failed *plugin.Error
	switch {
	case errors.As(err, &failed):
		text = "plugin " + failed.Plugin + " failed"
	case errors.Is(err, session.ErrClosed):
		text, code = "the server is shutting down", http.StatusServiceUnavailable
	}
	if s.started {
		_ = s.send(map[string]string{"error": text}) // whoever would be told of its failure has left
		return
	}
	s.w.Header().Set("Content-Type", "application/json")
	s.w.WriteHeader(code)
	_ = json.NewEncoder(s.w).Encode(map[string]string{"error": text})
}
