//go:build unix

package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// process is one process of a plugin, which has taken its settings and can be called. Its hooks are called
// with conn; conn.gone is closed when it has died. stop frees all that belongs to it, also then.
type process struct {
	conn  *conn
	about *wire.Description
	sub   *wire.Subscription
	pid   int

	name   string
	config Config
	log    *slog.Logger

	image  *image
	dir    *privateDir
	out    *output
	child  *child // nil if it is attached
	client *goplugin.Client
	rpc    *grpc.ClientConn
	life   context.Context // of the stream
	end    context.CancelFunc
	watch  sync.WaitGroup

	stdio    context.Context // of go-plugin's stream of what is printed
	endStdio context.CancelFunc

	stdout, stderr tail
	read           chan struct{} // closed when stdout and stderr have ended
	unshaken       error         // why there was no handshake, once there was none
	shaken         bool
	released       func() bool           // ctx of start does not kill it any more
	address        string                // where it listens
	undialed       atomic.Pointer[error] // why the socket was not taken

	stopping chan struct{}
	stopOnce sync.Once
	stopErr  error
	diedOnce sync.Once
	death    error
}

// start starts a process of a plugin. If it fails, nothing of the process is left. ctx is for the start only.
func start(ctx context.Context, c Config, log *slog.Logger) (*process, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.StartTimeout, fmt.Errorf("it did not start within %v", c.StartTimeout))
	defer cancel()
	p := &process{name: c.label(), config: c, log: log, stopping: make(chan struct{}), read: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	if err := p.launch(ctx); err != nil {
		err = p.explain(ctx, err)
		p.free()
		did := "start"
		if c.Attach != "" {
			did = "attach"
		}
		return nil, fmt.Errorf("remote: plugin %s did not %s: %w", p.name, did, err)
	}
	return p, nil
}

// launch does what start does, and leaves what it has begun if it fails.
func (p *process) launch(ctx context.Context) (err error) {
	if p.config.Attach != "" {
		return p.attach(ctx)
	}
	untouched, err := checkFiles(p.config)
	if err != nil {
		return err
	}
	path, err := executable(p.config)
	if err != nil {
		return err
	}
	if sum := p.config.SHA256; sum != "" {
		if p.image, err = pin(path, p.config.Command[0], sum); err != nil {
			return err
		}
	}
	if p.dir, err = newPrivateDir(socketBase()); err != nil {
		return err
	}
	env, secret := environment(p.config, p.log)
	p.out = newOutput(p.log.With("plugin", p.name), secret)
	if err := p.handshake(ctx, path, env); err != nil {
		return err
	}
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.introduce(ctx, wire.NewPluginClient(p.rpc)); err != nil {
		return err
	}
	if err := untouched(); err != nil {
		return err
	}
	if !p.released() {
		return context.Cause(ctx)
	}
	p.dir.remove() // nobody else will connect, and nothing is left if the host dies
	p.dir = nil
	return nil
}

// introduce asks the plugin who it is, gives it its settings, and opens the stream of calls.
func (p *process) introduce(ctx context.Context, plugin wire.PluginClient) (err error) {
	host := &wire.Host{Protocol: protocolVersion}
	addUnknown(host)
	if p.about, err = plugin.Describe(ctx, host); err != nil {
		if status.Code(err) == codes.Unimplemented {
			return fmt.Errorf("%w: it does not serve plughook.plugin.v1.Plugin", ErrProtocol)
		}
		return said(err)
	}
	if v := p.about.Protocol; v != protocolVersion {
		return fmt.Errorf("%w: version %d, and this host speaks version %d; take a version of the plugin that fits", ErrProtocol, v, protocolVersion)
	}
	if p.about.Name == "" {
		return fmt.Errorf("%w: it does not say its name", ErrProtocol)
	}
	p.name = cmp.Or(p.config.Name, p.about.Name)
	p.out.setLog(p.log.With("plugin", p.name))
	if n := values(p.about.Settings); n > maxValues {
		return fmt.Errorf("%w: the schema of its settings has %d values; %d is the most", ErrTooLarge, n, maxValues)
	}
	p.about.Version, p.about.Doc = p.out.secret.Replace(p.about.Version), p.out.secret.Replace(p.about.Doc)
	if err := checkSettings(p.about.Settings, p.config.Settings); err != nil {
		return err
	}
	settings := &wire.Configuration{Settings: p.config.Settings, Name: p.name}
	addUnknown(settings)
	if p.sub, err = plugin.Configure(ctx, settings); err != nil {
		if status.Code(err) == codes.InvalidArgument {
			return fmt.Errorf("%w: %w", ErrSettings, said(err))
		}
		return said(err)
	}
	s, err := p.openStream(ctx, plugin)
	if err != nil {
		return said(err)
	}
	p.conn = newConn(s, p.config.MaxMessage, p.out.record)
	p.conn.secret = p.out.secret
	p.watch.Go(func() {
		<-p.conn.gone
		p.endStdio() // a plugin ends when all its streams have
	})
	if p.child == nil {
		return nil
	}
	p.watch.Go(func() {
		<-p.child.done
		select { // what it has answered before is worth reading
		case <-p.conn.gone:
		case <-time.After(lastWords):
		}
		p.end()
	})
	return nil
}

// said returns what the plugin says of an error, without the words of gRPC.
func said(err error) error {
	if s, ok := status.FromError(err); ok {
		return errors.New(s.Message())
	}
	return err
}

// addUnknown adds a field that no version of the protocol knows, lest a plugin rely on there being none.
func addUnknown(m proto.Message) {
	m.ProtoReflect().SetUnknown([]byte{0xf8, 0xff, 0x7, 0x1}) // field 16383, varint 1
}
