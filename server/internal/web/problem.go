package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/session"
)

// A Problem is an error that a client is told: a status, a code for programs, a message for people. It holds
// no content of events, and nothing of how the server is made.
type Problem struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Invocation is the one that keeps a session busy.
	Invocation string `json:"invocation,omitzero"`
	// RetryAfter is how many seconds a client should wait.
	RetryAfter int `json:"-"`
}

func (p *Problem) Error() string { return p.Message }

// Bad returns the Problem of a request that is not right.
func Bad(message string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "bad_request", Message: message}
}

// CodeNotPossible is the code of a Problem with a command that cannot be carried out on a session.
const CodeNotPossible = "not_possible"

// NotPossible returns the Problem of a command that cannot be carried out on a session.
func NotPossible(message string) *Problem {
	return &Problem{Status: http.StatusConflict, Code: CodeNotPossible, Message: message}
}

// ProblemOf returns what a client is told of an error. What it is not told belongs into the log.
func ProblemOf(err error) *Problem {
	var p *Problem
	var tooLarge *http.MaxBytesError
	var busy *runs.BusyError
	var failed *plugin.Error
	var refused *plugin.CommandError
	var agentFailed *runner.AgentError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refused):
		return NotPossible(refused.Error())
	case errors.As(err, &tooLarge):
		return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "the body has more than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes"}
	case errors.Is(err, session.ErrNotFound):
		return notFound
	case errors.Is(err, artifact.ErrNotFound):
		return &Problem{Status: http.StatusNotFound, Code: "not_found", Message: "artifact not found"}
	case errors.Is(err, session.ErrExists):
		return &Problem{Status: http.StatusConflict, Code: "exists", Message: "a session with this id exists already"}
	case errors.Is(err, session.ErrIDReused):
		return &Problem{Status: http.StatusConflict, Code: "id_reused", Message: "an input with this id and another content was sent before"}
	case errors.Is(err, runner.ErrNotWaiting):
		return &Problem{Status: http.StatusConflict, Code: "not_waiting", Message: "no such call waits for an answer"}
	case errors.Is(err, runner.ErrCommand):
		return &Problem{Status: http.StatusNotImplemented, Code: "no_plugin", Message: "no plugin of the app takes this command"}
	case errors.As(err, &busy):
		return &Problem{Status: http.StatusConflict, Code: "busy", Message: "the session is busy", Invocation: busy.Invocation}
	case errors.Is(err, runs.ErrFull):
		return &Problem{Status: http.StatusTooManyRequests, Code: "too_many_runs", Message: err.Error(), RetryAfter: 2}
	case errors.Is(err, runs.ErrTooLong):
		return &Problem{Status: http.StatusGatewayTimeout, Code: "too_long", Message: runs.ErrTooLong.Error()}
	case errors.Is(err, session.ErrCancelled):
		return &Problem{Status: http.StatusConflict, Code: "cancelled", Message: "the run was cancelled"}
	case errors.Is(err, session.ErrFenced), errors.Is(err, session.ErrConflict):
		return &Problem{Status: http.StatusServiceUnavailable, Code: "taken_over", Message: "another process has taken the session over; send the input again, with its id", RetryAfter: 1}
	case errors.Is(err, session.ErrClosed):
		return &Problem{Status: http.StatusServiceUnavailable, Code: "closing", Message: "the server is shutting down", RetryAfter: 5}
	case errors.As(err, &failed):
		return &Problem{Status: http.StatusInternalServerError, Code: "plugin_failed", Message: "plugin " + failed.Plugin + " failed"}
	case errors.As(err, &agentFailed):
		return &Problem{Status: http.StatusInternalServerError, Code: "agent_failed", Message: "agent " + agentFailed.Agent + " failed"}
	case errors.Is(err, session.ErrInvalid), errors.Is(err, artifact.ErrName), errors.Is(err, artifact.ErrPart):
		return Bad(err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Problem{Status: http.StatusServiceUnavailable, Code: "cancelled", Message: "the request was given up"}
	}
	return &Problem{Status: http.StatusInternalServerError, Code: "failed", Message: "the server could not do it; its log says why"}
}

// Fail answers a request with an error, as {"error": {"code": …, "message": …}}.
func (c *Core) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p := c.Noted(r, err)
	WriteProblem(w, p, map[string]*Problem{"error": p})
}

// Noted returns what a client is told of an error, and logs what it is not told.
func (c *Core) Noted(r *http.Request, err error) *Problem {
	p := ProblemOf(err)
	if p.Status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		c.Log.WarnContext(r.Context(), "a request failed", "method", r.Method, "route", r.Pattern, "status", p.Status, "error", err)
	}
	return p
}

// WriteProblem answers with a Problem's status, and a body in the form of the routes.
func WriteProblem(w http.ResponseWriter, p *Problem, body any) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="runner"`)
	}
	WriteJSON(w, p.Status, body)
}

// WriteJSON answers with a value as JSON.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		status = http.StatusInternalServerError
		data = []byte(`{"error":{"code":"failed","message":"the answer cannot be written as JSON"}}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that has left is told nothing
}
