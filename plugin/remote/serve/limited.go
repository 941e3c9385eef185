package serve

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/callee"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// limitedStream is the plugin's end of the stream. It counts the calls that are not answered, and answers with
// a failure in place of what is too large to send.
type limitedStream struct {
	wire callee.Stream
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
		s.put(message.Failure(m.Seq, errEnding))
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
			m = message.Failure(m.Seq, err)
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
