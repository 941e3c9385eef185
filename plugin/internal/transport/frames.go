package transport

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"syscall"

	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// FramesPreface is what a host sends first on a connection for frames. HTTP/2 begins in another
// way, and sends more, so the first bytes tell which of both it is.
const FramesPreface = "plughook frames 1\r\n"

// WithoutFrames makes a plugin take no frames. It is for tests: plugins in other languages may
// know gRPC only.
var WithoutFrames bool

// frames are messages on a connection that has nothing else. Each is its length in four bytes,
// the most significant first, and the message. One goroutine writes and one reads.
type frames struct {
	conn net.Conn
	r    *bufio.Reader
	max  int // bytes of a message
}

func newFrames(c net.Conn, max int) *frames {
	return &frames{conn: c, r: bufio.NewReaderSize(c, ioBuffer), max: max}
}

// encodeFrame returns a message with its length before it, in a buffer that the caller puts back.
// A large event at its end is returned apart.
func encodeFrame(m proto.Message) (head *[]byte, event []byte, err error) {
	head = buffers.Get(4 + proto.Size(m) - len(largeEvent(m)))
	*head, event, err = encodeMessage((*head)[:4], m)
	if err != nil {
		return nil, nil, err
	}
	binary.BigEndian.PutUint32(*head, uint32(len(*head)-4+len(event)))
	return head, event, nil
}

func (f *frames) write(m proto.Message) error {
	head, event, err := encodeFrame(m)
	if err != nil {
		return err
	}
	defer buffers.Put(head)
	if event == nil {
		_, err = f.conn.Write(*head)
		return err
	}
	_, err = (&net.Buffers{*head, event}).WriteTo(f.conn)
	return err
}

func (f *frames) read(m proto.Message) error {
	head, err := f.r.Peek(4)
	if err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(head))
	_, _ = f.r.Discard(4)
	if n > f.max {
		return fmt.Errorf("a message has %d bytes; at most %d are allowed", n, f.max)
	}
	if n <= f.r.Size() {
		data, err := f.r.Peek(n)
		if err == nil {
			err = message.Unmarshal(data, m)
		}
		_, _ = f.r.Discard(len(data))
		return err
	}
	if n > 1<<largest { // take memory for what comes, not for what the length promises
		var data bytes.Buffer
		if _, err := io.CopyN(&data, f.r, int64(n)); err != nil {
			return err
		}
		return message.Unmarshal(data.Bytes(), m)
	}
	data := buffers.Get(n)
	defer buffers.Put(data)
	if _, err := io.ReadFull(f.r, *data); err != nil {
		return err
	}
	return message.Unmarshal(*data, m)
}

// PluginFrames is the plugin's end of a stream of frames.
type PluginFrames struct{ *frames }

// NewPluginFrames returns the plugin's end of a stream of frames, of which the preface was read.
func NewPluginFrames(c net.Conn, maxMessage int) PluginFrames {
	return PluginFrames{newFrames(c, GRPCLimit(maxMessage))}
}

// Send sends a message to the host.
func (f PluginFrames) Send(m *wire.PluginMessage) error { return f.write(m) }

// Recv waits for a message of the host.
func (f PluginFrames) Recv() (*wire.HostMessage, error) {
	m := new(wire.HostMessage)
	return m, f.read(m)
}

// HostFrames is the host's end of a stream of frames.
type HostFrames struct {
	*frames
	raw syscall.RawConn
}

// OpenHostFrames begins a stream of frames on a connection.
func OpenHostFrames(c *net.UnixConn, maxMessage int) (*HostFrames, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(c, FramesPreface)
	return &HostFrames{frames: newFrames(c, GRPCLimit(maxMessage)), raw: raw}, err
}

// Send sends a message to the plugin.
func (f *HostFrames) Send(m *wire.HostMessage) error { return f.write(m) }

// Recv waits for a message of the plugin.
func (f *HostFrames) Recv() (*wire.PluginMessage, error) {
	m := new(wire.PluginMessage)
	return m, f.read(m)
}

// Try sends as much of a message as the socket takes without waiting, and returns the rest, which
// is for SendRest. It returns false if it did not try: then the message is for Send.
func (f *HostFrames) Try(m *wire.HostMessage) (rest []byte, ok bool) {
	if largeEvent(m) != nil {
		return nil, false
	}
	head, _, err := encodeFrame(m)
	if err != nil {
		return nil, false
	}
	sent := tryWrite(f.raw, *head) // what could not be sent, for whatever reason, is the rest
	if sent < len(*head) {
		return (*head)[sent:], true
	}
	buffers.Put(head)
	return nil, true
}

// SendRest sends the rest of a message.
func (f *HostFrames) SendRest(rest []byte) error {
	_, err := f.conn.Write(rest)
	return err
}

// Close closes the connection.
func (f *HostFrames) Close() error { return f.conn.Close() }
