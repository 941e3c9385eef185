// Package sse writes server-sent events, as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). It knows nothing of events of a session.
// Another field of the standard is written by Stream.Send.
package sse

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// full is the number of bytes from which events do not wait for Flush.
const full = 4 << 10

// A Stream is an answer of server-sent events. Those that are sent at once go out together, with Flush. It is used
// from one goroutine.
type Stream struct {
	w   http.ResponseWriter
	c   *http.ResponseController
	buf bytes.Buffer
}

// Begin begins the answer. Its header goes out with the first Flush. retry is how long a client
// waits before it comes back, if it is not 0.
func Begin(w http.ResponseWriter, retry time.Duration) *Stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	s := &Stream{w: w, c: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	if retry > 0 {
		fmt.Fprintf(&s.buf, "retry: %d\n\n", retry.Milliseconds())
	}
	return s
}

// Send sends an event with data on one line, such as JSON. A name that is empty is the standard's "message".
// An id of 0 is none: the client's position stays.
func (s *Stream) Send(name string, id int64, data []byte) error {
	if id != 0 {
		s.buf.WriteString("id: ")
		s.buf.Write(strconv.AppendInt(s.buf.AvailableBuffer(), id, 10))
		s.buf.WriteByte('\n')
	}
	if name != "" {
		s.buf.WriteString("event: ")
		s.buf.WriteString(name)
		s.buf.WriteByte('\n')
	}
	s.buf.WriteString("data: ")
	s.buf.Write(data)
	s.buf.WriteString("\n\n")
	if s.buf.Len() < full {
		return nil
	}
	return s.Flush()
}

// Heartbeat sends a comment, which clients ignore, so that nobody on the way takes the connection for dead.
func (s *Stream) Heartbeat() error {
	s.buf.WriteString(":\n\n")
	return s.Flush()
}

// Flush sends what there is; before there is an event that is the header of the answer.
func (s *Stream) Flush() error {
	if err := s.Write(); err != nil {
		return err
	}
	return s.c.Flush()
}

// Write is Flush for the end of an answer: what there is goes out when the handler returns.
func (s *Stream) Write() error {
	_, err := s.w.Write(s.buf.Bytes())
	s.buf.Reset()
	if s.buf.Cap() > 64<<10 {
		s.buf = bytes.Buffer{} // one large event does not stay for the life of the stream
	}
	return err
}
