package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// attachedAt returns the socket at which this process is to wait for hosts, "" if a host has
// started it.
func attachedAt() string {
	if os.Getenv(transport.CookieKey) == transport.CookieValue {
		return ""
	}
	return os.Getenv(transport.EnvAttach)
}

// serveAttached serves each host that connects, until SIGINT or SIGTERM. Each host gets a plugin
// of its own, which create makes of its settings. last, if it is not nil, is called at the end.
func serveAttached(path string, about About, schema []byte, create func(json.RawMessage) (*plugin.Plugin, error), last func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := listenAt(path)
	if err != nil {
		fmt.Fprintf(os.Stderr, "plugin %s: %s: %v\n", about.Name, transport.EnvAttach, err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "plugin %s waits for runners. In the runner's configuration, in place of its command:\n\n    plugins:\n      - attach: %s\n\n", about.Name, path)
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var hosts sync.WaitGroup
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		hosts.Go(func() {
			slog.Info("a runner has attached", "plugin", about.Name)
			serveHost(ctx, c.(*net.UnixConn), newService(about, schema, create))
			slog.Info("a runner has left", "plugin", about.Name)
		})
	}
	time.AfterFunc(2*endWithin, func() { os.Exit(1) })
	hosts.Wait()
	if last == nil {
		return
	}
	ending, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if err := last(ending); err != nil {
		fmt.Fprintf(os.Stderr, "plugin %s: its Close failed: %v\n", about.Name, err)
		os.Exit(1)
	}
}

// listenAt listens at a path, if nobody else does.
func listenAt(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is not a socket; name another path", path)
		}
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.Close()
			return nil, fmt.Errorf("another process listens at %s; end it, or name another path", path)
		}
		if err := os.Remove(path); err != nil { // left by a process that was killed
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// serveHost serves one host until its connection has ended, or ctx is done.
func serveHost(ctx context.Context, c *net.UnixConn, s *service) {
	only := newOnlyConn(c)
	options := append(transport.ServerOptions(s.maxMessage), grpc.Creds(gate{insecure.NewCredentials(), func(c net.Conn) { _ = c.Close() }}))
	x := grpc.NewServer(options...)
	wire.RegisterPluginServer(x, s)
	defer context.AfterFunc(ctx, func() {
		s.end()
		select {
		case <-s.finished:
		case <-time.After(endWithin):
		}
		x.Stop()
	})()
	_ = x.Serve(only) // it ends with the connection
	x.Stop()
	s.end()
	<-s.finished
}

// onlyConn is a listener that accepts one connection, and ends with it.
type onlyConn struct {
	*net.UnixConn
	once   sync.Once
	first  chan net.Conn
	closed chan struct{}
}

func newOnlyConn(c *net.UnixConn) *onlyConn {
	o := &onlyConn{UnixConn: c, first: make(chan net.Conn, 1), closed: make(chan struct{})}
	o.first <- o
	return o
}

// Accept implements net.Listener.
func (o *onlyConn) Accept() (net.Conn, error) {
	select {
	case c := <-o.first:
		return c, nil
	case <-o.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener, and net.Conn.
func (o *onlyConn) Close() error {
	o.once.Do(func() { close(o.closed) })
	return o.UnixConn.Close()
}

// Addr implements net.Listener.
func (o *onlyConn) Addr() net.Addr { return o.LocalAddr() }
