package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
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
		r := &run{Client: c, key: key, shown: map[string]int{}}
		if err := r.prepare(input, cfg); err != nil {
			yield(nil, err)
			return
		}
		err := r.follow(ctx, yield)
		if errors.Is(err, errLeft) || context.Cause(ctx) != nil {
			r.cancel(ctx)
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
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

// run is one run, over as many connections as it takes.
type run struct {
	*Client
	key        session.Key
	body       []byte // of the request
	again      bool   // it may be sent again: the input has an ID
	reached    bool   // somebody has answered
	invocation string
	after      int64          // the position of the last event
	shown      map[string]int // by the ID of an event under way: how many bytes of its text were shown
}

// prepare makes the request's body.
func (r *run) prepare(input *session.Event, cfg session.RunConfig) error {
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
		r.again = true
		r.invocation = in.InvocationID
	}
	data, err := json.Marshal(body)
	r.body = data
	return err
}

// follow yields the run's events. It comes back when the connection breaks.
func (r *run) follow(ctx context.Context, yield func(*session.Event, error) bool) error {
	failures := 0
	for {
		was := r.after
		err := r.once(ctx, yield)
		if !later(err) || context.Cause(ctx) != nil {
			return err
		}
		if !r.reached && refused(err) {
			return err // nothing was begun
		}
		r.reached = true
		if r.after > was {
			failures = 0
		}
		if failures++; !r.again || failures > attempts {
			return err
		}
		wait(ctx, firstPause<<failures)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
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
		errors.As(err, &told) && (told.Code == "closing" || told.Code == "taken_over")
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

// once yields the run's events as long as one connection holds. It returns nil at the run's end.
func (r *run) once(ctx context.Context, yield func(*session.Event, error) bool) error {
	resp, err := r.send(ctx, http.MethodPost, r.path(r.key, "run"), r.body, position(r.after))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("X-Invocation-ID"); id != "" {
		r.invocation = id
	}
	frames := &frameReader{lines: bufio.NewReader(resp.Body)}
	fresh := map[string]int{} // how many bytes of their text came on this connection
	for {
		name, data, err := frames.next()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return &unreachable{err}
		}
		switch name {
		case "", "partial":
			e, err := session.DecodeEvent(data)
			if err != nil {
				return fmt.Errorf("client: an event of the server: %w", err)
			}
			if e.Partial {
				e = r.unseen(e, fresh)
			} else {
				r.after = max(r.after, e.Seq)
				delete(r.shown, e.ID)
				delete(fresh, e.ID)
			}
			if e != nil && !yield(e, nil) {
				return errLeft
			}
		case "error":
			var told Error
			if json.Unmarshal(data, &told) != nil {
				return &Error{Code: "failed", Message: "the stream ended with an error that is not readable"}
			}
			return &told
		case "end":
			return endOf(data)
		}
	}
}

// unseen returns a partial event without the text that the caller has got already: after a connection broke,
// the server sends the text so far again. It returns nil if nothing is new.
func (r *run) unseen(e *session.Event, fresh map[string]int) *session.Event {
	text := e.Text()
	was := r.shown[e.ID]
	before := fresh[e.ID]
	now := before + len(text)
	fresh[e.ID] = now
	switch {
	case text == "" && before >= was:
		return e // a thought, or what is no text
	case now <= was:
		return nil
	}
	r.shown[e.ID] = now
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

// frameReader reads server-sent events.
type frameReader struct{ lines *bufio.Reader }

// next returns the next event with data. It returns io.ErrUnexpectedEOF at the end: a run says so itself.
func (f *frameReader) next() (name string, data []byte, err error) {
	for {
		line, err := f.line()
		if err != nil {
			return "", nil, err
		}
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			return name, data, nil
		case line == "":
			name = ""
		case key == "event":
			name = value
		case key == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
			if len(data) > MaxFrame {
				return "", nil, fmt.Errorf("client: an event of the stream has more than %d bytes", MaxFrame)
			}
		}
	}
}

// line returns the next line, without its end.
func (f *frameReader) line() (string, error) {
	var line strings.Builder
	for {
		part, err := f.lines.ReadSlice('\n')
		line.Write(part)
		switch {
		case err == nil:
			return strings.TrimRight(line.String(), "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		case line.Len() > MaxFrame:
			return "", fmt.Errorf("client: a line of the stream has more than %d bytes", MaxFrame)
		}
	}
}

// cancel cancels the run, and waits for its end, so that whoever reads the session afterwards sees all of it.
func (r *run) cancel(ctx context.Context) {
	if r.invocation == "" {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*session.CancelGrace)
	defer done()
	for pause := 100 * time.Millisecond; pause < time.Second && ctx.Err() == nil; pause *= 2 {
		err := r.Cancel(ctx, r.key, r.invocation)
		if !later(err) {
			return
		}
		wait(ctx, pause)
	}
}
