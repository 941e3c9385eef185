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

// About is who a plugin with settings is, before it has them.
type About struct {
	// Name is what the plugin is called; see plugin.Plugin.
	Name string
	// Version is the plugin's own; that of the main module if empty.
	Version string
	// Doc says in a sentence what the plugin does.
	Doc string
}

// Serve is the whole main of a plugin's binary that takes no settings. It serves p to the host that has
// started the process, and returns when the host has done with it or has gone; p.Close has been called
// then. Started by anyone else, it says what the binary is and exits with status 2.
//
// With PLUGHOOK_ATTACH=SOCKET in its environment the process is not started by a host, but by a developer, such as under
// a debugger: it listens at that path, and serves every host of this user that attaches (Config.Attach), one
// after the other or several at once, until SIGINT or SIGTERM. Its log is its own then.
//
// The default slog logger, and through it package log, logs to the host; what the process prints on stdout
// or stderr gets there too.
func Plugin(p *plugin.Plugin) {
	about := About{Name: p.Name, Doc: p.Doc}
	if path := attachedAt(); path != "" {
		each := *p
		each.Close = nil // the next host has the same one
		serveAttached(path, about, nil, func(json.RawMessage) (*plugin.Plugin, error) { return &each, nil }, p.Close)
		return
	}
	serveProcess(about, nil, func(json.RawMessage) (*plugin.Plugin, error) { return p, nil })
}

// ServeNew is Serve for a plugin with settings: the plugin is what create makes of them. C is a struct; the
// JSON Schema of the settings is inferred from it as tool.New infers that of parameters, and what does not fit
// never reaches create. What create returns as an error is told to the user, so it has no secret in it.
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

const notByHand = `%[1]s is a plugin of Plughook. It is not started by hand: a runner starts it, whose configuration names it:

    plugins:
      - command: [%[2]s]

To run it under a debugger, have it listen at a socket, to which runners attach:

    ` + transport.EnvAttach + `=/tmp/%[1]s.sock dlv exec %[2]s

    plugins:
      - attach: /tmp/%[1]s.sock

`

// ballast is how many bytes a plugin's process has that it never touches, so that they cost nothing. The heap of most
// plugins is so small that it would be collected every few hundred calls, which then take longer.
const ballast = 16 << 20

// endWithin is how long a process may take to end once it is to.
const endWithin = 5 * time.Second

// serveProcess serves what create makes of settings, until the host has done with it.
func serveProcess(about About, schema []byte, create func(json.RawMessage) (*plugin.Plugin, error)) {
	if os.Getenv(transport.CookieKey) != transport.CookieValue {
		fmt.Fprintf(os.Stderr, notByHand, about.Name, os.Args[0])
		os.Exit(2)
	}
	var held atomic.Pointer[[]byte]
	defer held.Load()
	time.AfterFunc(time.Second, func() { // it makes a collection due, which a start need not wait for
		b := make([]byte, ballast)
		held.Store(&b)
	})
	stderr := os.Stderr
	s := newService(about, schema, create)
	s.about.Frames = !transport.WithoutFrames
	s.begun = sync.OnceFunc(func() { os.Stdout, os.Stderr = stderr, stderr }) // go-plugin has put pipes there
	logs := newWireHandler(stderr, &s.logs)
	slog.SetDefault(slog.New(logs))
	server := make(chan *grpc.Server, 1)
	go s.lifeline(server)
	fmt.Println() // the handshake stands on a line of its own, whatever was printed before
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

// newService returns a service of which only gRPC's stream is known.
func newService(about About, schema []byte, create func(json.RawMessage) (*plugin.Plugin, error)) *service {
	maxMessage, err := strconv.Atoi(os.Getenv(transport.EnvMaxMessage))
	if err != nil {
		maxMessage = transport.DefaultMaxMessage
	}
	return &service{about: &wire.Description{Protocol: transport.ProtocolVersion, Name: about.Name, Doc: about.Doc, Settings: schema,
		Version: cmp.Or(about.Version, buildVersion())}, create: create, maxMessage: maxMessage, begun: func() {},
		ending: make(chan struct{}), finished: make(chan struct{})}
}

// lifeline ends the process when the host has done with it, asks for its end by a signal, or has gone: then
// stdin ends.
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
	time.AfterFunc(transport.LastWords, x.Stop) // a host that does not close its streams does not hold us up
	x.GracefulStop()
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
