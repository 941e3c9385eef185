// Package geminitest is a Gemini API for tests: an HTTP server that answers from a script, in the API's
// own wire format, fails as one asks it to, and records what it was asked. Point a client at it with
// GOOGLE_GEMINI_BASE_URL, or its base URL, and any API key.
//
//	srv := geminitest.New(
//		geminitest.Call("get_weather", map[string]any{"city": "Paris"}),
//		geminitest.Status(429, "quota"),
//		geminitest.Text("It rains."),
//	)
//	defer srv.Close()
//
// It serves generateContent, streamGenerateContent (as server-sent events) and countTokens at the paths
// of the Gemini API and of Vertex AI. Like the API it refuses, with 400 INVALID_ARGUMENT, contents that
// no model takes: none at all, empty parts, a role other than user and model, a function response
// without its call, a call without its response. A request that the script has no answer for is refused
// too, so that it fails the test that forgot it.
//
// A new refusal of the API goes into the checks of server.go.
package geminitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// A Server is a Gemini API. It may be asked many things at once.
type Server struct {
	// URL is the server's base URL, without a path.
	URL string

	http   *httptest.Server
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	script   []Answer
	requests []*Request
	signed   map[string][]string // the signatures that were given to a call
}

// New starts a server on this machine, which gives the answers in order, one to each request. Close it.
func New(answers ...Answer) *Server {
	s := &Server{script: slices.Clone(answers), closed: make(chan struct{}), signed: map[string][]string{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Add appends answers to the script.
func (s *Server) Add(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, answers...)
}

// Left returns how many answers of the script nobody has asked for.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

// Requests returns what the server was asked, in order, refused requests too.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Close lets go of the answers that are held, waits for the others and ends the server.
func (s *Server) Close() {
	s.once.Do(func() { close(s.closed) })
	s.http.Close()
}

func (s *Server) serve(w http.ResponseWriter, hr *http.Request) {
	raw, err := io.ReadAll(hr.Body)
	if err != nil {
		return // the client has left
	}
	r := &Request{Context: hr.Context(), Path: hr.URL.Path, Header: hr.Header.Clone(), Raw: raw}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	bad := decoder.Decode(&r.Body)
	path := endpoint.FindStringSubmatch(r.Path)
	if path != nil {
		r.Vertex, r.Model, r.Method = path[1] != "", path[2], path[3]
	}
	wrong := r.read()
	s.mu.Lock()
	s.requests = append(s.requests, r)
	number := len(s.requests)
	if wrong == "" {
		wrong = s.unsigned(r.Contents)
	}
	s.mu.Unlock()

	switch {
	case hr.Method != http.MethodPost || path == nil:
		refuse(w, &Error{Code: 404, Message: fmt.Sprintf("geminitest: there is no %s %s", hr.Method, r.Path)})
	case bad != nil:
		refuse(w, &Error{Code: 400, Message: "Invalid JSON payload received: " + bad.Error()})
	case !r.Vertex && hr.Header.Get("X-Goog-Api-Key") == "" && hr.URL.Query().Get("key") == "":
		refuse(w, &Error{Code: 403, Message: "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity to call this API."})
	case r.Method == "streamGenerateContent" && hr.URL.Query().Get("alt") != "sse":
		refuse(w, &Error{Code: 400, Message: "geminitest: a stream is served as server-sent events only; ask with ?alt=sse"})
	case wrong != "":
		refuse(w, &Error{Code: 400, Message: wrong})
	case r.Method == "countTokens":
		send(w, http.StatusOK, map[string]any{"totalTokens": r.tokens()})
	default:
		answer, ok := s.next()
		if !ok {
			refuse(w, &Error{Code: 400, Message: fmt.Sprintf("geminitest: the script has no answer left for request %d: %s of %s, whose last text is %q", number, r.Method, r.Model, r.Text())})
			return
		}
		reply := answer.reply(r)
		s.sign(reply)
		(&writer{w: w, server: s, request: r, reply: reply, number: number}).write()
	}
}

func (s *Server) next() (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script) == 0 {
		return nil, false
	}
	a := s.script[0]
	if _, stays := a.(forever); !stays {
		s.script = s.script[1:]
	}
	return a, true
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails if the client has left
}

func refuse(w http.ResponseWriter, e *Error) { send(w, e.Code, e.frame()) }
