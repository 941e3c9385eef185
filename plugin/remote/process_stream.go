//go:build unix

package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// connect makes the one connection to the plugin.
func (p *process) connect() (err error) {
	var dialed atomic.Bool
	options := append(dialOptions(p.config.MaxMessage), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if dialed.Swap(true) {
				return nil, ErrGone
			}
			c, err := p.dial(ctx)
			if err != nil {
				p.undialed.Store(&err)
			}
			return c, err
		}))
	if p.rpc, err = grpc.NewClient("passthrough:///plugin", options...); err != nil {
		return err
	}
	p.stdio, p.endStdio = context.WithCancel(p.life)
	p.watch.Go(p.takeStdio)
	return nil
}

// dial connects to the plugin's socket, if it is the plugin that listens there.
func (p *process) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", p.address)
	if err != nil && p.config.Attach != "" {
		return nil, fmt.Errorf("nobody listens there; start it, for instance with %s=%s PROGRAM: %w", envAttach, p.address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("it does not listen where it says: %w", err)
	}
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err == nil {
		e := raw.Control(func(fd uintptr) { err = p.checkPeer(int(fd)) })
		err = errors.Join(err, e)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// checkPeer returns an error unless a process of the plugin listens at the other end.
func (p *process) checkPeer(fd int) error {
	uid, pid, known, err := peer(fd)
	if err != nil || !known {
		return err
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("%w: who listens at its socket is user %d", ErrProtocol, uid)
	}
	if p.config.Attach != "" {
		return nil
	}
	if session, err := unix.Getsid(pid); pid != p.pid && (err != nil || session != p.pid) {
		return fmt.Errorf("%w: who listens at its socket is process %d, which is not of the plugin (%d)", ErrProtocol, pid, p.pid)
	}
	return nil
}

// takeStdio takes what a plugin that uses go-plugin without this package prints: go-plugin holds it back
// until somebody does. There is none of it if the plugin is not written in Go, or uses Serve.
func (p *process) takeStdio() {
	s, err := p.rpc.NewStream(p.stdio, &grpc.StreamDesc{ServerStreams: true}, "/plugin.GRPCStdio/StreamStdio")
	if err != nil || s.SendMsg(&emptypb.Empty{}) != nil || s.CloseSend() != nil {
		return
	}
	for {
		var data emptypb.Empty // its fields are unknown to Empty
		if s.RecvMsg(&data) != nil {
			return
		}
		channel, text := stdioData(data.ProtoReflect().GetUnknown())
		p.out.print(channel, text)
	}
}

// wireStream is the stream of calls on the wire: gRPC's, or frames.
type wireStream interface {
	Send(*wire.HostMessage) error
	Recv() (*wire.PluginMessage, error)
}

// openStream opens the stream of calls.
func (p *process) openStream(ctx context.Context, plugin wire.PluginClient) (stream, error) {
	if !p.about.Frames {
		s, err := plugin.Serve(p.life)
		return &hostStream{wire: s, process: p}, err
	}
	f, err := p.openFrames(ctx)
	if err != nil {
		return nil, err
	}
	return &promptHostStream{hostStream{wire: f, process: p}, f}, nil
}

// hostStream is the stream of calls. Its errors say how the process has ended.
type hostStream struct {
	wire    wireStream
	process *process
	sent    atomic.Int64
}

func (s *hostStream) Send(m *wire.HostMessage) error {
	s.unknown(m)
	if err := s.wire.Send(m); err != nil {
		return s.process.died(err)
	}
	return nil
}

func (s *hostStream) unknown(m *wire.HostMessage) {
	if s.sent.Add(1)%64 == 1 {
		addUnknown(m)
	}
}

func (s *hostStream) Recv() (*wire.PluginMessage, error) {
	m, err := s.wire.Recv()
	if err != nil {
		return nil, s.process.died(err)
	}
	return m, nil
}

// promptHostStream is a hostStream of frames.
type promptHostStream struct {
	hostStream
	frames *hostFrames
}

func (s *promptHostStream) try(m *wire.HostMessage) (rest []byte, ok bool) {
	s.unknown(m)
	return s.frames.try(m)
}

func (s *promptHostStream) sendRest(rest []byte) error {
	if err := s.frames.sendRest(rest); err != nil {
		return s.process.died(err)
	}
	return nil
}
