package remote

import (
	"context"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/callee"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// Loopback returns p as it is in a process of its own, but without the process: every call and
// every answer is encoded and decoded in memory. It is for tests. Its Close closes p.
func Loopback(p *plugin.Plugin) *plugin.Plugin {
	ctx, cancel := context.WithCancel(context.Background())
	l := &loop{
		ctx:      ctx,
		toPlugin: make(chan []byte),
		toHost:   make(chan []byte),
	}
	c := newConn(hostEnd{l}, transport.DefaultMaxMessage, func(*wire.Log) {})
	c.all.Go(func() {
		if err := callee.Serve(ctx, pluginEnd{l}, p, true); err != nil {
			c.end(err)
		}
		cancel()
	})
	remote := message.Hooks(message.Subscription(p), c.call)
	remote.Name = p.Name
	remote.Doc = p.Doc
	remote.Close = func(ctx context.Context) error {
		_ = c.Drain() // it is gone otherwise
		done := make(chan struct{})
		go func() {
			c.all.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-ctx.Done():
			cancel()
		}
		if p.Close != nil {
			return p.Close(ctx)
		}
		return nil
	}
	return remote
}

// loop is two pipes of encoded messages.
type loop struct {
	ctx              context.Context
	toPlugin, toHost chan []byte
}

func (l *loop) put(pipe chan []byte, m proto.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case pipe <- data:
		return nil
	case <-l.ctx.Done():
		return io.EOF
	}
}

func (l *loop) take(pipe chan []byte, m proto.Message) error {
	select {
	case data := <-pipe:
		return message.Unmarshal(data, m)
	case <-l.ctx.Done():
		return io.EOF
	}
}

type hostEnd struct{ *loop }

func (h hostEnd) Send(m *wire.HostMessage) error { return h.put(h.toPlugin, m) }
func (h hostEnd) Recv() (*wire.PluginMessage, error) {
	m := new(wire.PluginMessage)
	return m, h.take(h.toHost, m)
}

type pluginEnd struct{ *loop }

func (p pluginEnd) Send(m *wire.PluginMessage) error { return p.put(p.toHost, m) }
func (p pluginEnd) Recv() (*wire.HostMessage, error) {
	m := new(wire.HostMessage)
	return m, p.take(p.toPlugin, m)
}
