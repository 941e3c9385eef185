package callee

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// A Stream carries messages from the host and back. One goroutine at a time calls each method.
type Stream interface {
	Send(*wire.PluginMessage) error
	Recv() (*wire.HostMessage, error)
}

// server calls a plugin's hooks for a host.
type server struct {
	plugin   *plugin.Plugin
	strict   bool // a hook that changes its arguments in place fails
	stream   Stream
	send     sync.Mutex
	received received

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
	calls   sync.WaitGroup

	next  chan struct{} // wakes a goroutine that waits to receive
	idle  atomic.Int32  // how many goroutines wait
	ended chan error    // has an element when nothing is received any more
	done  chan struct{} // closed after that
}

// maxIdle is how many goroutines wait to receive, at most.
const maxIdle = 64

// Serve calls p's hooks for a host, until the host drains the plugin or the stream ends. It
// returns when every hook has returned. If strict is set, a hook that changes its event or
// invocation in place fails, as it does in a runner.
func Serve(ctx context.Context, s Stream, p *plugin.Plugin, strict bool) error {
	x := &server{
		plugin:   p,
		strict:   strict,
		stream:   s,
		received: received{},
		cancels:  map[uint64]context.CancelFunc{},
		next:     make(chan struct{}),
		ended:    make(chan error, 1),
		done:     make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer x.calls.Wait()
	defer cancel()
	defer close(x.done)
	go x.receive(ctx)
	return <-x.ended
}

// receive receives messages until a call comes. It answers the call itself, while another
// goroutine receives what comes next: so the hook need not wait until the scheduler runs another
// goroutine.
func (x *server) receive(ctx context.Context) {
	for {
		m, err := x.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			x.ended <- nil
			return
		case err != nil:
			x.ended <- err
			return
		}
		switch m.Message.(type) {
		case *wire.HostMessage_Call:
			answer := x.call(ctx, m.Seq, m.GetCall())
			if answer != nil {
				select {
				case x.next <- struct{}{}: // a goroutine that waits has a stack that has grown already
				default:
					go x.receive(ctx)
				}
				answer()
				if !x.awaitTurn() {
					return
				}
			}
		case *wire.HostMessage_Cancel:
			x.mu.Lock()
			if cancel := x.cancels[m.Seq]; cancel != nil {
				cancel()
			}
			x.mu.Unlock()
		case *wire.HostMessage_Ping:
			x.reply(&wire.PluginMessage{Message: &wire.PluginMessage_Pong{Pong: &wire.Pong{}}})
		case *wire.HostMessage_Forget:
			delete(x.received, message.KeyOf(m.GetForget().Key))
		case *wire.HostMessage_Drain:
			x.calls.Wait()
			x.ended <- nil
			return
		}
	}
}

// awaitTurn waits until this goroutine is to receive. It returns false if the goroutine is to end.
func (x *server) awaitTurn() bool {
	defer x.idle.Add(-1)
	if x.idle.Add(1) > maxIdle {
		return false
	}
	select {
	case <-x.next:
		return true
	case <-x.done:
		return false
	}
}

// reply sends a message. If it cannot be sent, the host is gone, and Recv returns that.
func (x *server) reply(m *wire.PluginMessage) {
	x.send.Lock()
	defer x.send.Unlock()
	_ = x.stream.Send(m)
}
