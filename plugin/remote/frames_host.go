//go:build unix

package remote

import (
	"context"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// hostFrames is the host's end of a stream of frames.
type hostFrames struct {
	*frames
	raw syscall.RawConn
}

// openFrames connects to a plugin that takes frames.
func (p *process) openFrames(ctx context.Context) (*hostFrames, error) {
	c, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(p.life, func() { _ = c.Close() })
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err == nil {
		_, err = io.WriteString(c, framesPreface)
	}
	return &hostFrames{newFrames(c, grpcLimit(p.config.MaxMessage)), raw}, err
}

// Send implements wireStream.
func (f *hostFrames) Send(m *wire.HostMessage) error { return f.write(m) }

// Recv implements wireStream.
func (f *hostFrames) Recv() (*wire.PluginMessage, error) {
	m := new(wire.PluginMessage)
	return m, f.read(m)
}

// try sends a message if that can be had without waiting. What it returns is the rest that sendRest is to be given.
func (f *hostFrames) try(m *wire.HostMessage) (rest []byte, ok bool) {
	if largeEvent(m) != nil {
		return nil, false
	}
	head, _, err := encodeFrame(m)
	if err != nil {
		return nil, false
	}
	sent := 0
	_ = f.raw.Write(func(fd uintptr) bool {
		if n, err := unix.Write(int(fd), *head); err == nil {
			sent = n
		}
		return true // what could not be sent, for whatever reason, is the rest
	})
	if sent < len(*head) {
		return (*head)[sent:], true
	}
	buffers.Put(head)
	return nil, true
}

func (f *hostFrames) sendRest(rest []byte) error {
	_, err := f.conn.Write(rest)
	return err
}
