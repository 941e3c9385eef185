package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/limits"
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

// NewProblem returns a Problem.
func NewProblem(status int, code, message string) *Problem {
	return &Problem{Status: status, Code: code, Message: message}
}

// RetryIn returns the Problem for a client that may try again after some seconds.
func (p Problem) RetryIn(seconds int) *Problem {
	p.RetryAfter = seconds
	return &p
}

// Bad returns the Problem of a request that is not right.
func Bad(message string) *Problem {
	return NewProblem(http.StatusBadRequest, "bad_request", message)
}

// CodeNotPossible is the code of a Problem with a command that cannot be carried out on a session.
const CodeNotPossible = "not_possible"

// NotPossible returns the Problem of a command that cannot be carried out on a session.
func NotPossible(message string) *Problem {
	return NewProblem(http.StatusConflict, CodeNotPossible, message)
}

// ProblemOf returns what a client is told of an error. It leaves out how the server is made and what events
// say; Noted writes the whole error into the log.
func ProblemOf(err error) *Problem {
	var p *Problem
	var tooLarge *http.MaxBytesError
	var busy *runs.BusyError
	var exceeded *limits.Exceeded
	var neverFits *limits.TooLarge
	var failed *plugin.Error
	var refused *plugin.CommandError
	var agentFailed *runner.AgentError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refused):
		return NotPossible(refused.Error())
	case errors.As(err, &tooLarge):
		return NewProblem(http.StatusRequestEntityTooLarge, "too_large", "the body has more than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes")
	case errors.Is(err, session.ErrNotFound):
		return notFound
	case errors.Is(err, artifact.ErrNotFound):
		return NewProblem(http.StatusNotFound, "not_found", "artifact not found")
	case errors.Is(err, session.ErrExists):
		return NewProblem(http.StatusConflict, "exists", "a session with this id exists already")
	case errors.Is(err, session.ErrIDReused):
		return NewProblem(http.StatusConflict, "id_reused", "an input with this id and another "+
			"content was sent before")
	case errors.Is(err, runner.ErrNotWaiting):
		return NewProblem(http.StatusConflict, "not_waiting", "no such call waits for an answer")
	case errors.Is(err, runner.ErrOwnSession):
		return NewProblem(http.StatusConflict, "other_agent", "the app's own agent has run in this session: an agent in another "+
			"program needs a session of its own")
	case errors.Is(err, runner.ErrNotYours):
		return NewProblem(http.StatusForbidden, "not_yours", "this is not yours to decide: you have not the role that is asked, "+
			"or you have said yes, and another person is asked")
	case errors.Is(err, runner.ErrCommand):
		return NewProblem(http.StatusNotImplemented, "no_plugin", "no plugin of the app takes this command")
	case errors.As(err, &busy):
		return &Problem{Status: http.StatusConflict, Code: "busy", Message: "the session is busy", Invocation: busy.Invocation}
	case errors.As(err, &exceeded):
		return NewProblem(exceeded.Row.Status, exceeded.Row.Code, err.Error()).RetryIn(exceeded.Row.Wait)
	case errors.As(err, &neverFits):
		return NewProblem(http.StatusRequestEntityTooLarge, "session_too_large", err.Error())
	case errors.Is(err, runs.ErrTooLong):
		return NewProblem(http.StatusGatewayTimeout, "too_long", runs.ErrTooLong.Error())
	case errors.Is(err, session.ErrCancelled):
		return NewProblem(http.StatusConflict, "cancelled", "the run was cancelled")
	case errors.Is(err, session.ErrFenced), errors.Is(err, session.ErrConflict):
		return NewProblem(http.StatusServiceUnavailable, "taken_over", "another process has taken "+
			"the session over; send the input again, with its id").RetryIn(1)
	case errors.Is(err, session.ErrUnavailable):
		return unavailable
	case errors.Is(err, session.ErrClosed):
		return NewProblem(http.StatusServiceUnavailable, "closing", "the server is shutting down").RetryIn(5)
	case errors.As(err, &failed):
		return NewProblem(http.StatusInternalServerError, "plugin_failed", "plugin "+failed.Plugin+" failed")
	case errors.As(err, &agentFailed):
		return NewProblem(http.StatusInternalServerError, "agent_failed", "agent "+agentFailed.Agent+" failed")
	case errors.Is(err, session.ErrInvalid), errors.Is(err, artifact.ErrName), errors.Is(err, artifact.ErrPart):
		return Bad(err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return NewProblem(http.StatusServiceUnavailable, "cancelled", "the request was given up")
	}
	return NewProblem(http.StatusInternalServerError, "failed", "the request failed within the "+
		"server; the server's log says why")
}

// unavailable is the answer while the store cannot be reached.
var unavailable = NewProblem(http.StatusServiceUnavailable, "unavailable",
	"the store cannot be reached now; send the request again, an input with its id").RetryIn(2)

// Answer answers a request with what its handler has returned: an error, or a value as JSON, or neither if the
// handler has answered itself.
func (c *Core) Answer(w http.ResponseWriter, r *http.Request, value any, err error) {
	switch {
	case err != nil:
		c.Fail(w, r, err)
	case value != nil:
		WriteJSON(w, http.StatusOK, value)
	}
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

// WriteList answers with an object of a list, under a key, and what rest returns when the list has been read. It writes
// the list as it reads it, and holds no more than one value of it. It returns an error of the first value; after that,
// it cuts the connection.
func (c *Core) WriteList(
	w http.ResponseWriter, r *http.Request, key string, list iter.Seq2[jsontext.Value, error], rest func() map[string]any,
) error {
	buf := bufio.NewWriterSize(w, 4<<10)
	begun := false
	begin := func() {
		begun = true
		jsonHeader(w)
		w.WriteHeader(http.StatusOK)
		fmt.Fprintf(buf, "{%q:[", key)
	}
	for data, err := range list {
		switch {
		case err != nil && !begun:
			return err
		case err != nil:
			c.Noted(r, err)
			panic(http.ErrAbortHandler) // an answer that ends early must not look whole
		case begun:
			_ = buf.WriteByte(',')
		default:
			begin()
		}
		if _, err := buf.Write(data); err != nil {
			return nil // the client has left, or is too slow
		}
	}
	if !begun {
		begin()
	}
	_ = buf.WriteByte(']')
	members := rest()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		data, err := json.Marshal(members[name], json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			c.Noted(r, err)
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(buf, ",%q:%s", name, data)
	}
	_, _ = buf.WriteString("}\n")
	_ = buf.Flush() // a client that has left is told nothing
	return nil
}

// jsonHeader sets the header of an answer in JSON.
func jsonHeader(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

// WriteJSON answers with a value as JSON.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		status = http.StatusInternalServerError
		data = []byte(`{"error":{"code":"failed","message":"the answer cannot be written as JSON"}}`)
	}
	jsonHeader(w)
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that has left is told nothing
}
