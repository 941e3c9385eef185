package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/tool"
)

// About is what a plugin says of itself before it has its settings.
type About struct {
	// Name is the plugin's name; see plugin.Plugin.
	Name string
	// Version is the plugin's version. The default is that of the program's main module.
	Version string
	// Doc says in a sentence what the plugin does.
	Doc string
}

// Plugin serves p to the host that has started this process. It is the whole main of a plugin
// without settings. It returns when the host needs the plugin no more, or is gone; p.Close has
// been called then. If no host has started the process, it prints what the program is and exits
// with status 2.
//
// The default slog logger, and with it package log, logs to the host. What the process prints
// gets to the host's log too.
//
// A developer can start the process by hand, such as under a debugger, with
// PLUGHOOK_ATTACH=SOCKET in its environment. Then it listens at that path, and serves all hosts
// of this user that attach (remote.Config.Attach), one after the other or several at once, until
// SIGINT or SIGTERM. What it logs and prints stays in the developer's terminal.
func Plugin(p *plugin.Plugin) {
	about := About{Name: p.Name, Doc: p.Doc}
	if path := attachedAt(); path != "" {
		each := *p
		each.Close = nil // other hosts use the same plugin
		serveAttached(path, about, nil, func(json.RawMessage) (*plugin.Plugin, error) { return &each, nil }, p.Close)
		return
	}
	serveProcess(about, nil, func(json.RawMessage) (*plugin.Plugin, error) { return p, nil })
}

// WithSettings is Plugin for a plugin with settings, which create makes. C is a struct: the JSON
// Schema of the settings is inferred from it, as tool.New infers that of parameters, and settings
// that do not fit never reach create. The user sees the error that create returns, so it must not
// have a secret in it.
func WithSettings[C any](about About, create func(C) (*plugin.Plugin, error)) {
	schema, err := schemaOf[C]()
	if err != nil {
		fmt.Fprintf(os.Stderr, "plugin %s: %v\n", about.Name, err)
		os.Exit(1)
	}
	make := func(settings json.RawMessage) (*plugin.Plugin, error) {
		var c C
		if len(settings) > 0 {
			if err := json.Unmarshal(settings, &c); err != nil {
				return nil, fmt.Errorf("settings: %w", err)
			}
		}
		return create(c)
	}
	if path := attachedAt(); path != "" {
		serveAttached(path, about, schema, make, nil)
		return
	}
	serveProcess(about, schema, make)
}

// schemaOf returns the JSON Schema of a struct, nil if it has no fields.
func schemaOf[C any]() ([]byte, error) {
	t, err := tool.New("settings", "", func(context.Context, *tool.Call, C) (any, error) { return nil, nil })
	if err != nil {
		return nil, err
	}
	if t.Declaration.ParametersJsonSchema == nil {
		return nil, nil
	}
	return json.Marshal(t.Declaration.ParametersJsonSchema)
}

// notByHand is what a plugin prints if no host has started it.
const notByHand = `%[1]s is a plugin of Plughook. It is not started by hand: a runner starts it. In the runner's configuration:

    plugins:
      - command: [%[2]s]

To run it under a debugger, have it listen at a socket, and have the runner attach to that:

    ` + transport.EnvAttach + `=/tmp/%[1]s.sock dlv exec %[2]s

    plugins:
      - attach: /tmp/%[1]s.sock

`

// ballast is how many bytes a plugin's process allocates and never uses. They cost no memory, as
// they are never touched. Without them the heap of most plugins is so small that the garbage is
// collected every few hundred calls.
const ballast = 16 << 20

// endWithin is how long a process may take to end once it was asked to.
const endWithin = 5 * time.Second

// serveProcess serves the plugin that create makes of the settings, until the host needs it no
// more.
func serveProcess(about About, schema []byte, create func(json.RawMessage) (*plugin.Plugin, error)) {
	if os.Getenv(transport.CookieKey) != transport.CookieValue {
		fmt.Fprintf(os.Stderr, notByHand, about.Name, os.Args[0])
		os.Exit(2)
	}
	var held atomic.Pointer[[]byte]
	defer held.Load()
	time.AfterFunc(time.Second, func() { // not at once: it makes a garbage collection due
		b := make([]byte, ballast)
		held.Store(&b)
	})
	stderr := os.Stderr
	s := newService(about, schema, create)
	s.about.Frames = !transport.WithoutFrames
	s.begun = sync.OnceFunc(func() { os.Stdout, os.Stderr = stderr, stderr }) // go-plugin has put pipes in their place
	logs := newWireHandler(stderr, &s.logs)
	slog.SetDefault(slog.New(logs))
	server := make(chan *grpc.Server, 1)
	go s.lifeline(server)
	fmt.Println() // the handshake gets a line of its own, whatever was printed before
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: transport.Handshake,
		Plugins:         goplugin.PluginSet{transport.PluginKind: &transport.GRPCPlugin{Service: s}},
		Logger:          hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: stderr, JSONFormat: true}),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			options = append(options, transport.ServerOptions(s.maxMessage)...)
			made := grpc.NewServer(append(options, grpc.Creds(gate{insecure.NewCredentials(), s.frames}))...)
			server <- made
			return made
		},
	})
	// The server has ended, perhaps by GRPCController.Shutdown, which waits for nothing.
	s.end()
	select {
	case <-s.finished:
	case <-time.After(endWithin):
		os.Exit(1)
	}
	if s.failed {
		os.Exit(1)
	}
}

// newService returns a service that takes no frames.
func newService(about About, schema []byte, create func(json.RawMessage) (*plugin.Plugin, error)) *service {
	maxMessage, err := strconv.Atoi(os.Getenv(transport.EnvMaxMessage))
	if err != nil {
		maxMessage = transport.DefaultMaxMessage
	}
	return &service{
		about: &wire.Description{
			Protocol: transport.ProtocolVersion,
			Name:     about.Name,
			Doc:      about.Doc,
			Settings: schema,
			Version:  cmp.Or(about.Version, buildVersion()),
		},
		create:     create,
		maxMessage: maxMessage,
		begun:      func() {},
		ending:     make(chan struct{}),
		finished:   make(chan struct{}),
	}
}

// lifeline ends the process when the host has ended the calls, sends SIGTERM, or is gone, which
// the end of standard input tells.
func (s *service) lifeline(server <-chan *grpc.Server) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	waited := false
	select {
	case <-s.finished:
		waited = true
	case <-term:
	case <-gone:
	}
	time.AfterFunc(endWithin, func() { os.Exit(1) })
	x := <-server
	if !waited {
		s.end()
		select {
		case <-s.finished:
		case <-gone: // nobody waits for hooks
			s.cancelHooks()
			<-s.finished
		}
	}
	time.AfterFunc(transport.LastWords, x.Stop) // do not wait for a host that does not close its streams
	x.GracefulStop()
}

// buildVersion returns the version of the program's main module.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
