package remote

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/pinned"
	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// Start starts a plugin's process, or attaches to one, and returns a plugin like any other, whose
// Close ends the process. It is Open for those who need no more than that; what Host says of a
// plugin holds for this one too.
func Start(ctx context.Context, c Config) (*plugin.Plugin, error) {
	h, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.Plugin(), nil
}

// Open starts a plugin's process, or attaches to one, and returns its host. It returns once the
// plugin has taken its settings and can be called; ctx is for that time only.
func Open(ctx context.Context, c Config) (*Host, error) { return openHost(ctx, c, start) }

// launched is a process that has taken its settings and can be called.
type launched struct {
	conn  *conn
	about *wire.Description
	sub   *wire.Subscription
	pid   int // 0 if it is attached
	// traced reports whether a debugger traces it; nil if that is not known.
	traced func() bool
	// stop ends it, if it has not ended, and returns once nothing of it is left. It is bounded in
	// time by itself, and kills at once when the context is done.
	stop func(context.Context) error

	process *process.Process
	config  Config
}

// launch is start, or what stands for it in tests.
type launch func(ctx context.Context, c Config, log *slog.Logger) (*launched, error)

// start starts a plugin's process, or attaches to one, and agrees with it on its settings. If it
// fails, nothing of the process is left.
func start(ctx context.Context, c Config, log *slog.Logger) (*launched, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	late := fmt.Errorf("it did not start within %v", c.StartTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, c.StartTimeout, late)
	defer cancel()

	// Start the process, or connect to one that somebody else has started.
	var p *process.Process
	var err error
	what := "start"
	if c.Attach == "" {
		p, err = process.Start(ctx, c.spec(), log)
	} else {
		what = "attach"
		p, err = process.Attach(c.label(), c.Attach, c.MaxMessage, log)
	}
	if err != nil {
		return nil, fmt.Errorf("remote: plugin %s did not %s: %w", c.label(), what, err)
	}

	// Make it ready to be called.
	s := &launched{pid: p.PID, traced: p.Traced, stop: p.Stop, process: p, config: c}
	if err := s.begin(ctx); err != nil {
		err = p.Explain(ctx, err)
		p.Free()
		return nil, fmt.Errorf("remote: plugin %s did not %s: %w", s.name(), what, err)
	}
	if c.Attach != "" {
		log.Warn("PLUGIN IS ATTACHED, FOR DEVELOPMENT ONLY: the runner trusts whatever listens at the socket; "+
			"it is not pinned, isolated, limited or watched", "plugin", s.name(), "socket", c.Attach)
	}
	return s, nil
}

// name is what the plugin is called, as far as that is known.
func (s *launched) name() string {
	if s.config.Name == "" && s.about.GetName() != "" {
		return s.about.Name
	}
	return s.config.label()
}

// begin makes a process ready to be called.
func (s *launched) begin(ctx context.Context) error {
	if err := s.introduce(ctx); err != nil || s.config.Attach != "" {
		return err
	}
	// An interpreter has read its files by now. They must be those that were hashed.
	if err := s.process.Untouched(); err != nil {
		return err
	}
	if err := s.process.KeepRunning(ctx); err != nil {
		return err
	}
	s.process.RemoveSocket()
	return nil
}

// introduce asks the plugin who it is, gives it its settings, and opens the stream of calls.
func (s *launched) introduce(ctx context.Context) error {
	service := wire.NewPluginClient(s.process.RPC)
	if err := s.describe(ctx, service); err != nil {
		return err
	}
	if err := s.configure(ctx, service); err != nil {
		return err
	}
	calls, err := s.openStream(ctx, service)
	if err != nil {
		return process.PluginError(err)
	}
	s.conn = newConn(calls, s.config.MaxMessage, s.process.Log)
	s.conn.secret = s.process.Secrets()
	s.process.Watch(s.conn)
	return nil
}

// describe asks the plugin who it is.
func (s *launched) describe(ctx context.Context, service wire.PluginClient) error {
	host := &wire.Host{Protocol: transport.ProtocolVersion}
	transport.AddUnknown(host)
	about, err := service.Describe(ctx, host)
	switch {
	case status.Code(err) == codes.Unimplemented:
		return fmt.Errorf("%w: it does not serve plughook.plugin.v1.Plugin", ErrProtocol)
	case err != nil:
		return process.PluginError(err)
	case about.Protocol != transport.ProtocolVersion:
		return fmt.Errorf("%w: version %d, and this host speaks version %d; take a version of the plugin that fits",
			ErrProtocol, about.Protocol, transport.ProtocolVersion)
	case about.Name == "":
		return fmt.Errorf("%w: it does not say its name", ErrProtocol)
	}
	s.about = about
	s.process.SetName(s.name())
	if n := message.Values(about.Settings); n > message.MaxValues {
		return fmt.Errorf("%w: the schema of its settings has %d values; at most %d are allowed", ErrTooLarge, n, message.MaxValues)
	}
	secret := s.process.Secrets()
	about.Version = secret.Text(about.Version)
	about.Doc = secret.Text(about.Doc)
	return nil
}

// configure gives the plugin its settings.
func (s *launched) configure(ctx context.Context, service wire.PluginClient) error {
	if err := message.CheckSettings(ctx, s.about.Settings, s.config.Settings); err != nil {
		return err
	}
	settings := &wire.Configuration{Settings: s.config.Settings, Name: cmp.Or(s.config.Name, s.about.Name)}
	transport.AddUnknown(settings)
	sub, err := service.Configure(ctx, settings)
	if status.Code(err) == codes.InvalidArgument {
		return fmt.Errorf("%w: %w", ErrSettings, process.PluginError(err))
	}
	if err != nil {
		return process.PluginError(err)
	}
	s.sub = sub
	return nil
}

// Pin returns the configuration with the digests of what is on the disk now: SHA256 is the
// executable's, and Files, whose digests may be empty, has that of each file. Nothing is started.
// A configuration that was pinned starts that very plugin or, with ErrDigest, none.
//
// A script is refused as executable, as it is when a pinned plugin starts.
func Pin(c Config) (Config, error) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return Config{}, fmt.Errorf("remote: plugin %s is not pinned: the configuration has no command", c.label())
	}
	sum, files, err := pinned.Digests(c.Dir, c.Command[0], c.Files)
	if err != nil {
		return Config{}, fmt.Errorf("remote: plugin %s is not pinned: %w", c.label(), err)
	}
	c.SHA256 = sum
	c.Files = files
	return c, nil
}
