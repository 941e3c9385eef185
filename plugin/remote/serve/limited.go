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

// limitedStream is the plugin's end of the stream. It counts the calls that are not answered yet.
// In place of an answer that is too large it sends a failure.
type limitedStream struct {
	wire callee.Stream
	max  int
	idle chan struct{} // closed when calls are refused, and all are answered

	mu      sync.Mutex
	calls   int  // not answered yet
	refused bool // new calls are refused
	closed  bool // nothing is sent any more
}

// Recv waits for a message. It answers calls itself that are refused.
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

// Send sends a message.
func (s *limitedStream) Send(m *wire.PluginMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.put(m)
	if m.GetOutcome() != nil || m.GetFailure() != nil {
		s.calls--
		s.markIdle()
	}
	return err
}

// put sends a message, or an error in its place if it is too large. s.mu is held.
func (s *limitedStream) put(m *wire.PluginMessage) error {
	if s.closed {
		return io.EOF
	}
	if n := proto.Size(m); n > s.max {
		err := fmt.Errorf("%w: the answer has %d bytes, the limit is %d", plugin.ErrOutcome, n, s.max)
		if m.GetLog() != nil {
			m = &wire.PluginMessage{Message: &wire.PluginMessage_Log{Log: &wire.Log{Level: m.GetLog().Level, Message: err.Error()}}}
		} else {
			m = message.Failure(m.Seq, err)
		}
	}
	return s.wire.Send(m)
}

// markIdle closes idle, if it is time. s.mu is held.
func (s *limitedStream) markIdle() {
	if s.refused && s.calls == 0 {
		select {
		case <-s.idle:
		default:
			close(s.idle)
		}
	}
}

// refuse makes calls fail that come from now on.
func (s *limitedStream) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = true
	s.markIdle()
}

// close ends sending.
func (s *limitedStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
