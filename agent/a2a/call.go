package a2a

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	wire "github.com/plughook/plughook/internal/a2awire"
)

// What may be wrong with an answer.
var (
	errBroken = errors.New("the connection has ended before the answer")
	errSilent = errors.New("it has sent nothing for too long")
	errNoJSON = errors.New("what it has sent is no JSON-RPC response")
)

// call calls a method of the remote agent, and accept for each result, until that returns an error. The
// error is a *wire.Error if the remote agent refuses, and is errBroken if the connection has ended too early.
// Of what the remote agent has sent it repeats nothing but its own error message.
func (a *remote) call(ctx context.Context, method string, params any, accept func(*wire.Result) error) error {
	body, err := json.Marshal(wire.Request{JSONRPC: "2.0", ID: jsontext.Value("1"), Method: method, Params: params})
	if err != nil {
		return fmt.Errorf("the message cannot be written as JSON: %w", err)
	}

	// Silence ends the call.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(a.silence, func() { cancel(errSilent) })
	defer clock.Stop()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the request cannot be made")
	}
	for key, values := range a.header {
		q.Header[key] = values
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "text/event-stream, application/json")
	q.Header.Set(wire.VersionHeader, wire.Version)
	if a.token != "" {
		q.Header.Set("Authorization", "Bearer "+a.token)
	}
	answer, err := a.client.Do(q)
	if err != nil {
		return cause(ctx, err)
	}
	defer answer.Body.Close()
	from := heard{
		from: http.MaxBytesReader(nil, answer.Body, a.maxBytes),
		tell: func() { clock.Reset(a.silence) },
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if answer.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return cause(ctx, events(from, accept))
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return cause(ctx, err)
	}
	r, err := resultOf(data)
	var refused *wire.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("status %s", answer.Status)
	case err != nil:
		return err
	}
	return accept(r)
}

// cause returns why a call has failed: not that its context is done, but why it is; and without the URL,
// which may have a key in it.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, errEnough) {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// events reads server-sent events.
func events(from io.Reader, accept func(*wire.Result) error) error {
	lines := bufio.NewReader(from)
	var data []byte
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errBroken
		}
		if err != nil {
			var large *tooLarge
			if errors.As(err, &large) {
				return err
			}
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if more, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(more, []byte(" "))...)
			continue
		}
		if len(line) > 0 || data == nil {
			continue
		}
		r, err := resultOf(data)
		if err != nil {
			return err
		}
		if err := accept(r); err != nil {
			return err
		}
		data = nil
	}
}

// resultOf reads one answer of JSON-RPC. The result of GetTask and CancelTask is the task itself.
func resultOf(data []byte) (*wire.Result, error) {
	var answer struct {
		Result jsontext.Value `json:"result"`
		Error  *wire.Error    `json:"error"`
	}
	if json.Unmarshal(data, &answer) != nil {
		return nil, errNoJSON
	}
	if answer.Error != nil {
		answer.Error.Message = clipped(answer.Error.Message)
		return nil, answer.Error
	}
	var r wire.Result
	if len(answer.Result) == 0 || json.Unmarshal(answer.Result, &r) != nil {
		return nil, errNoJSON
	}
	if r.Task == nil && r.Message == nil && r.StatusUpdate == nil && r.ArtifactUpdate == nil {
		var task wire.Task
		if json.Unmarshal(answer.Result, &task) != nil || task.ID == "" {
			return nil, errNoJSON
		}
		r.Task = &task
	}
	return &r, nil
}

// clipped returns the beginning of a message that is for people.
func clipped(text string) string {
	const most = 1000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// heard reads, and tells that something was heard.
type heard struct {
	from io.Reader
	tell func()
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 {
		h.tell()
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		err = &tooLarge{large.Limit}
	}
	return n, err
}

// tooLarge says that an answer is larger than it may be.
type tooLarge struct{ max int64 }

func (e *tooLarge) Error() string { return fmt.Sprintf("its answer has more than %d bytes", e.max) }
