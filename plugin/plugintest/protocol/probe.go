//go:build unix

package protocol

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// A probe is a process of the plugin under test, and a host of it that does nothing that a case
// does not ask for.
type probe struct {
	*process.Process
	target  target // what it is a process of
	service wire.PluginClient
	about   *wire.Description  // what it says of itself, once it was asked
	sub     *wire.Subscription // what it has subscribed to
	hooks   *plugin.Plugin     // the same, as a plugin
	calls   interface {
		Send(*wire.HostMessage) error
		Recv() (*wire.PluginMessage, error)
	}
	hangUp  func() error // ends the connection for frames, if there is one
	reading sync.WaitGroup

	mu      sync.Mutex
	news    chan struct{} // closed, and made anew, when something has come
	answers map[uint64][]*wire.PluginMessage
	pongs   int
	ended   error // how the stream has ended
	seq     uint64
}

// newProbe starts a process and connects to it.
func newProbe(ctx context.Context, c target) (*probe, error) {
	late := fmt.Errorf("it did not start within %v", c.StartTimeout)
	within, cancel := context.WithTimeoutCause(ctx, c.StartTimeout, late)
	defer cancel()
	p, err := process.Start(within, c.spec(), c.Log)
	if err != nil {
		return nil, err
	}
	if err := p.KeepRunning(within); err != nil {
		err = p.Explain(within, err)
		p.Free()
		return nil, err
	}
	return &probe{
		Process: p,
		target:  c,
		service: wire.NewPluginClient(p.RPC),
		news:    make(chan struct{}),
		answers: map[uint64][]*wire.PluginMessage{},
	}, nil
}

// free ends the process and frees what belongs to it.
func (s *probe) free() {
	s.Process.Free()
	s.reading.Wait()
}

// configure tells the plugin its settings.
func (s *probe) configure(ctx context.Context) (err error) {
	host := &wire.Host{Protocol: transport.ProtocolVersion}
	if s.about, err = s.service.Describe(ctx, host); err != nil {
		return fmt.Errorf("calling Describe: %w", err)
	}
	if err := message.CheckSettings(ctx, s.about.Settings, s.target.Settings); err != nil {
		return err
	}
	name := cmp.Or(s.target.Name, s.about.Name)
	s.sub, err = s.service.Configure(ctx, &wire.Configuration{Settings: s.target.Settings, Name: name})
	if err != nil {
		return fmt.Errorf("calling Configure: %w", err)
	}
	s.hooks = message.Hooks(s.sub, nil)
	s.hooks.Name = name
	return nil
}

// ready starts a process that can be called.
func ready(ctx context.Context, c target) (*probe, error) {
	s, err := newProbe(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.configure(ctx); err != nil {
		s.free()
		return nil, err
	}
	if err := s.open(ctx, c.frames); err != nil {
		s.free()
		return nil, err
	}
	s.reading.Go(s.receive)
	return s, nil
}

// with returns a check that runs with a process that start has started, and ends it.
func with(
	start func(context.Context, target) (*probe, error), run func(context.Context, *probe) error,
) func(context.Context, target) error {
	return func(ctx context.Context, c target) error {
		s, err := start(ctx, c)
		if err != nil {
			return err
		}
		defer s.free()
		return run(ctx, s)
	}
}

// open opens the stream of calls.
func (s *probe) open(ctx context.Context, frames bool) (err error) {
	switch {
	case !frames:
		if s.calls, err = s.service.Serve(s.Context()); err != nil {
			return fmt.Errorf("calling Serve: %w", err)
		}
	case !s.about.Frames:
		return errNoFrames
	default:
		f, err := s.OpenFrames(ctx)
		if err != nil {
			return fmt.Errorf("a connection for frames: %w", err)
		}
		s.calls = f
		s.hangUp = f.Close
	}
	return nil
}
