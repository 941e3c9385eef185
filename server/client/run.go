package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
)

// Run is runner.Runner.Run on the server: it yields the run's events, and the error that it ended with. When
// the context is done, or the caller leaves the loop, the run is cancelled.
func (c *Client) Run(
	ctx context.Context, key session.Key, input *session.Event, cfg session.RunConfig,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		s := &stream{Client: c, key: key, method: http.MethodPost, below: "run", isRun: true}
		err := s.prepare(input, cfg)
		if err == nil {
			err = s.follow(ctx, yield)
			if errors.Is(err, errLeft) || context.Cause(ctx) != nil {
				s.cancel(ctx)
				err = cmp.Or(context.Cause(ctx), err)
			}
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// Follow yields a session's events behind a position: at first those that are in the log, then each one when
// it was appended, by whichever process. It comes back when the connection breaks. It ends with an error: the
// context's cause, session.ErrNotFound when the session is deleted, or that of a server that cannot be
// reached.
func (c *Client) Follow(ctx context.Context, key session.Key, after int64) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		s := &stream{Client: c, key: key, method: http.MethodGet, below: "events?follow=1", again: true, after: after}
		err := s.follow(ctx, yield)
		if !errors.Is(err, errLeft) {
			yield(nil, cmp.Or(context.Cause(ctx), err))
		}
	}
}

// Cancel ends an invocation, in whatever process it runs, and waits for its end. It is no error if the
// invocation does not run any more.
func (c *Client) Cancel(ctx context.Context, key session.Key, invocation string) error {
	var answer struct{}
	url := c.path(key, "invocations/"+segment(invocation)+"/cancel?wait=1")
	return c.ask(ctx, http.MethodPost, url, nil, &answer)
}

// errLeft says that the caller has left the loop.
var errLeft = errors.New("the caller has left")

// A stream is what the server tells of a run, or of a session, over as many connections as it takes.
type stream struct {
	*Client
	key           session.Key
	method, below string // of the request
	body          []byte
	again         bool // the request may be sent again: a run's input has an ID
	isRun         bool // partial events are wanted, and it has an end
	invocation    string
	after         int64          // the position of the last event
	shown         map[string]int // by the ID of an event under way: how many bytes of its text were shown
}

// prepare makes the request's body.
func (s *stream) prepare(input *session.Event, cfg session.RunConfig) error {
	body := map[string]any{"streaming": cfg.Streaming == session.SSE, "create": cfg.Create}
	if input != nil {
		in := input.Clone()
		if in.ID == "" {
			in.ID = session.NewID()
		}
		if in.InvocationID == "" {
			in.InvocationID = in.ID
		}
		data, err := in.MarshalJSON()
		if err != nil {
			return fmt.Errorf("client: the input: %w", err)
		}
		body["event"] = jsontext.Value(data)
		s.again = true
		s.invocation = in.InvocationID
	}
	data, err := json.Marshal(body)
	s.body = data
	return err
}

// follow yields the events. It comes back when the connection breaks.
func (s *stream) follow(ctx context.Context, yield func(*session.Event, error) bool) error {
	failures := 0
	for reached := false; ; reached = true {
		was := s.after
		err := s.once(ctx, yield)
		if !later(err) || context.Cause(ctx) != nil || refused(err) && !reached {
			return err
		}
		if s.after > was {
			failures = 0
		}
		if failures++; !s.again || failures > attempts {
			return err
		}
		wait(ctx, firstPause<<failures)
	}
}

// refused reports whether the connection was refused: no server listens at the address.
func refused(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// firstPause is half of how long a client waits before it comes back; each time after that it waits twice as
// long.
const firstPause = 100 * time.Millisecond

// later reports whether a request that has failed is worth sending again: to this server, or to another one
// of its store.
func later(err error) bool {
	var broken *unreachable
	var told *Error
	return errors.As(err, &broken) ||
		errors.As(err, &told) &&
			(told.Code == "closing" || told.Code == "taken_over" || told.Code == "unavailable")
}

// wait waits, but not longer than the context lasts.
func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// once yields the events as long as one connection holds. It returns nil at a run's end.
func (s *stream) once(ctx context.Context, yield func(*session.Event, error) bool) error {
	resp, err := s.send(ctx, s.method, s.path(s.key, s.below), s.body, position(s.after))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	s.invocation = cmp.Or(resp.Header.Get("X-Invocation-ID"), s.invocation)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, MaxFrame)
	fresh := map[string]int{} // how many bytes of their text came on this connection
	for {
		name, data, err := nextFrame(lines)
		switch {
		case err != nil:
			return &unreachable{err}
		case name == "", name == "partial" && s.isRun:
			e, err := session.DecodeEvent(data)
			if err != nil {
				return fmt.Errorf("client: an event of the server: %w", err)
			}
			if e.Partial {
				e = s.unseen(e, fresh)
			} else {
				s.after = max(s.after, e.Seq)
				delete(s.shown, e.ID)
				delete(fresh, e.ID)
			}
			if e != nil && !yield(e, nil) {
				return errLeft
			}
		case name == "error":
			told := &Error{}
			if json.Unmarshal(data, told) != nil {
				return &Error{Code: "failed", Message: "the stream ended with an error that is not readable"}
			}
			return told
		case name == "end" && s.isRun:
			return endOf(data)
		}
	}
}

// unseen returns a partial event without the text that the caller has got already: after a connection broke,
// the server sends the text so far again. It returns nil if nothing is new.
func (s *stream) unseen(e *session.Event, fresh map[string]int) *session.Event {
	text := e.Text()
	was := s.shown[e.ID]
	before := fresh[e.ID]
	now := before + len(text)
	fresh[e.ID] = now
	switch {
	case text == "" && before >= was:
		return e // a thought, or what is no text
	case now <= was:
		return nil
	}
	if s.shown == nil {
		s.shown = map[string]int{}
	}
	s.shown[e.ID] = now
	if before >= was {
		return e
	}
	rest := session.Reply(text[was-before:])
	rest.ID = e.ID
	rest.Author = e.Author
	rest.Partial = true
	return rest
}

// endOf returns the error that a run ended with, as its last frame says.
func endOf(data []byte) error {
	var end struct {
		Kind  string `json:"kind"`
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(data, &end); err != nil {
		return fmt.Errorf("client: the end of a run: %w", err)
	}
	if end.Error == nil { // and not a nil *Error in an error
		return nil
	}
	return end.Error
}

// nextFrame returns the next server-sent event with data. The error at the end is io.ErrUnexpectedEOF: a run
// says itself that it has ended.
func nextFrame(lines *bufio.Scanner) (name string, data []byte, err error) {
	for lines.Scan() {
		line := lines.Bytes()
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && data != nil:
			return name, data, nil
		case len(line) == 0:
			name = ""
		case string(key) == "event":
			name = string(value)
		case string(key) == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
			if len(data) > MaxFrame {
				return "", nil, bufio.ErrTooLong
			}
		}
	}
	return "", nil, cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
}

// cancel cancels the run, and waits for its end, so that whoever reads the session afterwards sees all of it.
func (s *stream) cancel(ctx context.Context) {
	if s.invocation == "" {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*session.CancelGrace)
	defer done()
	for pause := 100 * time.Millisecond; pause < time.Second && ctx.Err() == nil; pause *= 2 {
		err := s.Cancel(ctx, s.key, s.invocation)
		if !later(err) {
			return
		}
		wait(ctx, pause)
	}
}
