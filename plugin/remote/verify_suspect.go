//go:build unix

package remote

import (
	"context"
	"fmt"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// suspect is a process of a plugin that is verified. Nothing is done for it that a case does not ask for.
type suspect struct {
	*process
	service wire.PluginClient
	hooks   *plugin.Plugin // what it has subscribed to
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

// suspected starts a process and connects to it.
func suspected(ctx context.Context, c target) (*suspect, error) {
	p := &process{name: c.label(), config: c.Config, log: c.Log, stopping: make(chan struct{}), read: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	s := &suspect{process: p, news: make(chan struct{}), answers: map[uint64][]*wire.PluginMessage{}}
	within, cancel := context.WithTimeoutCause(ctx, c.StartTimeout, fmt.Errorf("it did not start within %v", c.StartTimeout))
	defer cancel()
	err := s.reach(within)
	if err == nil && !p.released() {
		err = context.Cause(within)
	}
	if err != nil {
		err = p.explain(within, err)
		p.free()
		return nil, err
	}
	return s, nil
}

// reach starts the process, learns where it listens and connects.
func (s *suspect) reach(ctx context.Context) (err error) {
	if err := s.config.check(); err != nil {
		return err
	}
	if _, err := checkFiles(s.config); err != nil {
		return err
	}
	path, err := executable(s.config)
	if err != nil {
		return err
	}
	if sum := s.config.SHA256; sum != "" {
		if s.image, err = pin(path, s.config.Command[0], sum); err != nil {
			return err
		}
	}
	if s.dir, err = newPrivateDir(socketBase()); err != nil {
		return err
	}
	env, secret := environment(s.config, s.log)
	s.out = newOutput(s.log.With("plugin", s.name), secret)
	if err := s.handshake(ctx, path, env); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	s.service = wire.NewPluginClient(s.rpc)
	return nil
}

// free ends the process and frees what belongs to it.
func (s *suspect) free() {
	s.process.end()
	s.process.free()
	s.reading.Wait()
}

// configure tells the plugin its settings.
func (s *suspect) configure(ctx context.Context) (err error) {
	host := &wire.Host{Protocol: protocolVersion}
	if s.about, err = s.service.Describe(ctx, host); err != nil {
		return fmt.Errorf("Describe: %w", err)
	}
	if err := checkSettings(s.about.Settings, s.config.Settings); err != nil {
		return err
	}
	if s.config.Name == "" {
		s.name = s.about.Name
	}
	if s.sub, err = s.service.Configure(ctx, &wire.Configuration{Settings: s.config.Settings, Name: s.name}); err != nil {
		return fmt.Errorf("Configure: %w", err)
	}
	s.hooks = hooks(s.sub, nil)
	return nil
}

// ready starts a process that can be called.
func ready(ctx context.Context, c target) (*suspect, error) {
	s, err := suspected(ctx, c)
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

// open opens the stream of calls.
func (s *suspect) open(ctx context.Context, frames bool) (err error) {
	switch {
	case !frames:
		if s.calls, err = s.service.Serve(s.life); err != nil {
			return fmt.Errorf("Serve: %w", err)
		}
	case !s.about.Frames:
		return errNoFrames
	default:
		f, err := s.openFrames(ctx)
		if err != nil {
			return fmt.Errorf("a connection for frames: %w", err)
		}
		s.calls, s.hangUp = f, f.conn.Close
	}
	return nil
}
