package gemini

import (
	"bufio"
	"bytes"
	"io"
)

// events reads server-sent events and passes on one line of data for each: the SDK cannot read
// comments, other fields, and data of several lines, which servers may send.
type events struct {
	*body
	lines *bufio.Reader
	out   bytes.Buffer
	ended bool
}

func newEvents(b *body) *events {
	return &events{body: b, lines: bufio.NewReader(unremembered{b})}
}

// unremembered reads a body without recording what it reads, since events records each event.
type unremembered struct{ *body }

func (u unremembered) Read(p []byte) (int, error) { return u.raw(p) }

func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.ended {
			return 0, io.EOF
		}
		e.event()
	}
	return e.out.Read(p)
}

// event reads one event. Bytes that are not an event are passed on unchanged: they may be an error
// message.
func (e *events) event() {
	var data, all []byte
	foreign := false
	for !e.ended {
		line, err := e.lines.ReadBytes('\n')
		e.ended = err != nil
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		all = append(append(all, line...), '\n')
		field, value, _ := bytes.Cut(line, []byte(":"))
		switch string(field) {
		case "", "event", "id", "retry":
		case "data":
			data = append(append(data, ' '), value...) // lines of JSON run together anywhere
		default:
			foreign = true
		}
	}
	switch {
	case e.ended && e.exchange.broken != nil: // cut off in the middle
	case foreign:
		e.out.Write(all)
		e.out.WriteByte('\n')
	case len(bytes.TrimSpace(data)) > 0:
		e.exchange.frame(data)
		e.out.WriteString("data:")
		e.out.Write(data)
		e.out.WriteString("\n\n")
	}
}
