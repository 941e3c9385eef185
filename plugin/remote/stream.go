package remote

import (
	"context"
	"sync/atomic"

	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// openStream opens the stream of calls: frames, if the plugin takes them, and gRPC's otherwise.
func (s *launched) openStream(ctx context.Context, service wire.PluginClient) (stream, error) {
	if !s.about.Frames {
		over, err := service.Serve(s.process.Context())
		return &hostStream{stream: over, process: s.process}, err
	}
	f, err := s.process.OpenFrames(ctx)
	if err != nil {
		return nil, err
	}
	return &hostStream{stream: f, process: s.process, frames: f}, nil
}

// hostStream is the stream of calls to a process. Its errors say how the process has ended.
type hostStream struct {
	stream
	process *process.Process
	frames  *transport.HostFrames // the stream, if it is one of frames; else nil
	sent    atomic.Int64
}

// Send implements stream.
func (s *hostStream) Send(m *wire.HostMessage) error {
	s.addUnknown(m)
	if err := s.stream.Send(m); err != nil {
		return s.process.Died(err)
	}
	return nil
}

// addUnknown adds an unknown field now and then, lest a plugin rely on there being none.
func (s *hostStream) addUnknown(m *wire.HostMessage) {
	if s.sent.Add(1)%64 == 1 {
		transport.AddUnknown(m)
	}
}

// Recv implements stream.
func (s *hostStream) Recv() (*wire.PluginMessage, error) {
	m, err := s.stream.Recv()
	if err != nil {
		return nil, s.process.Died(err)
	}
	return m, nil
}

// try implements promptStream.
func (s *hostStream) try(m *wire.HostMessage) (rest []byte, ok bool) {
	if s.frames == nil {
		return nil, false
	}
	s.addUnknown(m)
	return s.frames.Try(m)
}

// sendRest implements promptStream.
func (s *hostStream) sendRest(rest []byte) error {
	if err := s.frames.SendRest(rest); err != nil {
		return s.process.Died(err)
	}
	return nil
}
