package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// service is what a plugin's process serves.
type service struct {
	wire.UnimplementedPluginServer
	about      *wire.Description
	create     func(settings json.RawMessage) (*plugin.Plugin, error)
	maxMessage int
	begun      func() // called when the host has called
	logs       logTarget

	ending   chan struct{} // closed when the process is to end
	ends     sync.Once
	finished chan struct{} // closed when nothing is served any more
	finish   sync.Once
	failed   bool // Close has, once finished is closed

	mu      sync.Mutex
	plugin  *plugin.Plugin
	serving bool
	cancel  context.CancelFunc // of hooks, while serving
}

// Describe implements wire.PluginServer.
func (s *service) Describe(context.Context, *wire.Host) (*wire.Description, error) {
	s.begun()
	return s.about, nil
}

// Configure implements wire.PluginServer.
func (s *service) Configure(_ context.Context, c *wire.Configuration) (_ *wire.Subscription, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plugin != nil {
		return nil, status.Error(codes.FailedPrecondition, "the plugin has its settings")
	}
	if err := checkSettings(s.about.Settings, c.Settings); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	defer func() {
		if e := plugin.Recovered(recover()); e != nil {
			var p *plugin.PanicError
			errors.As(e, &p)
			slog.Error("the plugin panics with its settings", "panic", p.Value, "stack", string(p.Stack))
			err = status.Error(codes.Internal, "with its settings: "+e.Error())
		}
	}()
	p, err := s.create(c.Settings)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if p == nil {
		return nil, status.Error(codes.Internal, "it is nil")
	}
	named := *p
	if c.Name != "" {
		named.Name = c.Name
	}
	if err := plugin.Validate(&named); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	s.plugin = &named
	return subscription(&named), nil
}

// Serve implements wire.PluginServer.
func (s *service) Serve(stream grpc.BidiStreamingServer[wire.HostMessage, wire.PluginMessage]) error {
	return s.serve(stream.Context(), stream)
}

// frames serves the host on a connection for frames.
func (s *service) frames(c net.Conn) {
	defer c.Close()
	if err := s.serve(context.Background(), pluginFrames{newFrames(c, grpcLimit(s.maxMessage))}); err != nil {
		slog.Error("the host's connection is refused", "error", err)
	}
}

// serve serves the host on a stream. It is called once, and its end is the end of the process.
func (s *service) serve(ctx context.Context, wireStream pluginStream) error {
	s.mu.Lock()
	p := s.plugin
	if p == nil || s.serving {
		s.mu.Unlock()
		return status.Error(codes.FailedPrecondition, "Configure comes before Serve, and Serve once")
	}
	s.serving = true
	ctx, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	s.mu.Unlock()
	defer s.finish.Do(func() { close(s.finished) })
	defer cancel()

	stream := &limitedStream{wire: wireStream, max: s.maxMessage, idle: make(chan struct{})}
	s.logs.set(stream)
	defer s.logs.set(nil)
	defer stream.close()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, stream, p, false) }()
	select {
	case <-ended:
	case <-s.ending:
		stream.refuse()
		select {
		case <-stream.idle:
		case <-ended:
		}
	}
	s.close(p)
	return nil
}

// close closes the plugin.
func (s *service) close(p *plugin.Plugin) {
	if p == nil || p.Close == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		slog.Error("the plugin did not close well", "error", err)
		s.failed = true
	}
}

// end makes the service end once all calls are answered.
func (s *service) end() { s.ends.Do(s.beginEnd) }

func (s *service) beginEnd() {
	s.mu.Lock()
	p, serving := s.plugin, s.serving
	s.serving = true // there will be no stream any more
	s.mu.Unlock()
	close(s.ending)
	if !serving {
		s.close(p)
		s.finish.Do(func() { close(s.finished) })
	}
}

func (s *service) cancelHooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// limitedStream is the plugin's end of the stream. It counts the calls that are not answered, and answers with
// a failure in place of what is too large to send.
type limitedStream struct {
	wire pluginStream
	max  int
	idle chan struct{} // closed when calls are refused, and none is left

	mu      sync.Mutex
	calls   int
	refused bool
	closed  bool
}

func (s *limitedStream) Recv() (*wire.HostMessage, error) {
	for {
		m, err := s.wire.Recv()
		if err != nil || m.GetCall() == nil {
			return m, err
		}
		s.mu.Lock()
		refused := s.refused
		if !refused {
			s.calls++
		}
		s.mu.Unlock()
		if !refused {
			return m, nil
		}
		s.mu.Lock()
		s.put(failure(m.Seq, errEnding))
		s.mu.Unlock()
	}
}

var errEnding = errors.New("the plugin's process is ending")

func (s *limitedStream) Send(m *wire.PluginMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.put(m)
	if m.GetOutcome() != nil || m.GetFailure() != nil {
		s.calls--
		s.settle()
	}
	return err
}

func (s *limitedStream) put(m *wire.PluginMessage) error {
	if s.closed {
		return io.EOF
	}
	if n := proto.Size(m); n > s.max {
		err := fmt.Errorf("%w: it has %d bytes, the limit is %d", plugin.ErrOutcome, n, s.max)
		if m.GetLog() != nil {
			m = &wire.PluginMessage{Message: &wire.PluginMessage_Log{Log: &wire.Log{Level: m.GetLog().Level, Message: err.Error()}}}
		} else {
			m = failure(m.Seq, err)
		}
	}
	return s.wire.Send(m)
}

func (s *limitedStream) settle() {
	if s.refused && s.calls == 0 {
		select {
		case <-s.idle:
		default:
			close(s.idle)
		}
	}
}

// refuse makes it fail the calls that come from now on.
func (s *limitedStream) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = true
	s.settle()
}

func (s *limitedStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
