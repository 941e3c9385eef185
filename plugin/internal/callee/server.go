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

// pluginStream carries messages from the host and back. One goroutine receives.
type Stream interface {
	Send(*wire.PluginMessage) error
	Recv() (*wire.HostMessage, error)
}

// server calls a plugin's hooks for a host.
type server struct {
	plugin *plugin.Plugin
	strict bool // check that hooks change nothing in place, as the runner does
	stream Stream
	send   sync.Mutex
	copies copies

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
	calls   sync.WaitGroup

	next  chan struct{} // wakes one that waits to receive
	idle  atomic.Int32  // how many do
	ended chan error    // has an element when nothing is received any more
	done  chan struct{} // closed then
}

// maxIdle is how many goroutines wait to receive, at most.
const maxIdle = 64

// serve answers a host's calls until the host drains the plugin or the stream ends. It returns when every
// hook has.
func Serve(ctx context.Context, s Stream, p *plugin.Plugin, strict bool) error {
	x := &server{plugin: p, strict: strict, stream: s, copies: copies{}, cancels: map[uint64]context.CancelFunc{},
		next: make(chan struct{}), ended: make(chan error, 1), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	defer x.calls.Wait()
	defer cancel()
	defer close(x.done)
	go x.receive(ctx)
	return <-x.ended
}

// receive takes messages until a call comes. That it answers itself, at once, while another goroutine takes the
// messages after it: so a hook does not wait until another goroutine runs.
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
			if answer := x.call(ctx, m.Seq, m.GetCall()); answer != nil {
				select {
				case x.next <- struct{}{}: // who waits for it has a stack that has grown
				default:
					go x.receive(ctx)
				}
				answer()
				if !x.again() {
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
			delete(x.copies, message.KeyOf(m.GetForget().Key))
		case *wire.HostMessage_Drain:
			x.calls.Wait()
			x.ended <- nil
			return
		}
	}
}

// again waits until it is time to receive, and reports false if there is no need.
func (x *server) again() bool {
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

// reply sends a message; if it cannot be sent, the host is gone, and Recv says so.
func (x *server) reply(m *wire.PluginMessage) {
	x.send.Lock()
	defer x.send.Unlock()
	_ = x.stream.Send(m)
}
