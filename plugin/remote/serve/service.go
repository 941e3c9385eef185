package serve

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/callee"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/transport"
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
	failed   bool // the plugin's Close has failed; valid once finished is closed

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
func (s *service) Configure(ctx context.Context, c *wire.Configuration) (_ *wire.Subscription, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plugin != nil {
		return nil, status.Error(codes.FailedPrecondition, "the plugin has its settings already")
	}
	if err := message.CheckSettings(ctx, s.about.Settings, c.Settings); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	defer func() {
		if e := plugin.Recovered(recover()); e != nil {
			var p *plugin.PanicError
			errors.As(e, &p)
			slog.Error("the plugin panics when it gets its settings", "panic", p.Value, "stack", string(p.Stack))
			err = status.Error(codes.Internal, "when it gets its settings: "+e.Error())
		}
	}()
	p, err := s.create(c.Settings)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if p == nil {
		return nil, status.Error(codes.Internal, "the plugin is nil")
	}
	named := *p
	if c.Name != "" {
		named.Name = c.Name
	}
	if err := plugin.Validate(&named); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	s.plugin = &named
	return message.Subscription(&named), nil
}

// Serve implements wire.PluginServer.
func (s *service) Serve(stream grpc.BidiStreamingServer[wire.HostMessage, wire.PluginMessage]) error {
	return s.serve(stream.Context(), stream)
}

// frames serves the host on a connection for frames.
func (s *service) frames(c net.Conn) {
	defer c.Close()
	if err := s.serve(context.Background(), transport.NewPluginFrames(c, s.maxMessage)); err != nil {
		slog.Error("a connection for frames is refused", "error", err)
	}
}

// serve serves the host on a stream. It is called once, and its end is the end of the process.
func (s *service) serve(ctx context.Context, wireStream callee.Stream) error {
	s.mu.Lock()
	p := s.plugin
	if p == nil || s.serving {
		s.mu.Unlock()
		return status.Error(codes.FailedPrecondition, "call Configure first, and Serve once")
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
	go func() { ended <- callee.Serve(ctx, stream, p, false) }()
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
		slog.Error("the plugin's Close failed", "error", err)
		s.failed = true
	}
}

// end makes the service end once all calls are answered.
func (s *service) end() { s.ends.Do(s.beginEnd) }

func (s *service) beginEnd() {
	s.mu.Lock()
	p := s.plugin
	serving := s.serving
	s.serving = true // there will be no stream any more
	s.mu.Unlock()
	close(s.ending)
	if !serving {
		s.close(p)
		s.finish.Do(func() { close(s.finished) })
	}
}

// cancelHooks cancels the contexts of all hooks that are running.
func (s *service) cancelHooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}
