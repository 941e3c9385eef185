//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/pinned"
	"github.com/plughook/plughook/plugin/internal/privatedir"
	"github.com/plughook/plughook/plugin/internal/sandbox"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// A Process is a plugin's process: one that Start has started, or one that Attach has connected
// to. The caller of those has to call Stop or Free.
type Process struct {
	// PID is the number of the process, 0 if it is attached.
	PID int
	// Address is the path of the socket at which the plugin listens.
	Address string
	// RPC is the gRPC connection to the plugin.
	RPC *grpc.ClientConn

	name string
	spec Spec // what was started; the zero Spec if it is attached
	log  *slog.Logger

	// What belongs to the process, in the order in which it is made.
	files    *pinned.Files // until Untouched
	image    *pinned.Copy
	dir      *privatedir.Dir
	out      *output
	client   *goplugin.Client
	child    *sandbox.Process   // nil if it is attached
	life     context.Context    // of the connection
	end      context.CancelFunc // ends life
	stdio    context.Context    // of go-plugin's stream of what is printed
	endStdio context.CancelFunc
	watch    sync.WaitGroup
	calls    Calls // nil until Watch

	stdout, stderr tail
	read           chan struct{}         // closed when stdout and stderr have ended
	released       func() bool           // detaches the process from the context of Start
	shaken         bool                  // the handshake was found
	unshaken       error                 // why there was no handshake, once there was none
	undialed       atomic.Pointer[error] // why the socket was not taken

	stopping chan struct{} // closed when Stop is called
	stopOnce sync.Once
	stopErr  error
	diedOnce sync.Once
	death    error
}

func newProcess(name string, log *slog.Logger) *Process {
	p := &Process{
		name:     name,
		log:      log,
		read:     make(chan struct{}),
		stopping: make(chan struct{}),
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Start starts a plugin's process and connects to it. It asks the plugin nothing. If it fails,
// nothing of the process is left. Until KeepRunning is called, the process is killed when ctx is
// done.
func Start(ctx context.Context, spec Spec, log *slog.Logger) (*Process, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	p := newProcess(spec.Name, log)
	p.spec = spec
	if err := p.launch(ctx); err != nil {
		err = p.Explain(ctx, err)
		p.Free()
		return nil, err
	}
	return p, nil
}

// launch does what Start does. If it fails, Free has to be called.
func (p *Process) launch(ctx context.Context) (err error) {
	// Compare the files and the executable with their digests.
	p.files, err = pinned.CheckFiles(p.spec.Dir, p.spec.Files)
	if err != nil {
		return err
	}
	path, err := pinned.Executable(p.spec.Dir, p.spec.Command[0])
	if err != nil {
		return err
	}
	if p.spec.SHA256 != "" {
		p.image, err = pinned.CopyOf(path, p.spec.Command[0], p.spec.SHA256)
		if err != nil {
			return err
		}
	}

	// Make what the process needs: a directory for its socket, an environment, someone to take
	// its output.
	p.dir, err = privatedir.Make(privatedir.Base())
	if err != nil {
		return err
	}
	env, secret := environment(p.spec.Env, p.log)
	p.out = newOutput(p.log.With("plugin", p.name), secret)

	// Start it, read where it listens, and connect.
	if err := p.handshake(ctx, path, env); err != nil {
		return err
	}
	return p.connect()
}

// Attach connects to a plugin that somebody else has started. The process gets no signal, and is
// asked to end this connection only.
func Attach(name, socket string, maxMessage int, log *slog.Logger) (*Process, error) {
	p := newProcess(name, log)
	p.Address = socket
	p.spec.MaxMessage = maxMessage
	p.out = newOutput(p.log.With("plugin", p.name), message.Secrets{})
	if err := p.connect(); err != nil {
		p.Free()
		return nil, err
	}
	return p, nil
}

// connect makes the one gRPC connection to the plugin.
func (p *Process) connect() (err error) {
	var dialed atomic.Bool
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		if dialed.Swap(true) {
			return nil, ErrGone
		}
		c, err := p.dial(ctx)
		if err != nil {
			p.undialed.Store(&err)
		}
		return c, err
	}
	options := append(transport.DialOptions(p.spec.MaxMessage),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial))
	p.RPC, err = grpc.NewClient("passthrough:///plugin", options...)
	if err != nil {
		return err
	}
	p.stdio, p.endStdio = context.WithCancel(p.life)
	p.watch.Go(p.takeStdio)
	return nil
}

// dial connects to the plugin's socket, if it is the plugin that listens there.
func (p *Process) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", p.Address)
	if err != nil && p.child == nil {
		return nil, fmt.Errorf("nobody listens there; start it, for instance with %s=%s PROGRAM: %w", transport.EnvAttach, p.Address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("it does not listen where it says: %w", err)
	}
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err == nil {
		e := raw.Control(func(fd uintptr) { err = p.checkPeer(int(fd)) })
		err = errors.Join(err, e)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// checkPeer returns an error unless a process of the plugin listens at the other end.
func (p *Process) checkPeer(fd int) error {
	uid, pid, known, err := transport.Peer(fd)
	if err != nil || !known {
		return err
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("%w: user %d listens at its socket, who is not the user of this host", ErrProtocol, uid)
	}
	if p.child == nil || pid == p.PID {
		return nil
	}
	session, err := unix.Getsid(pid)
	if err != nil || session != p.PID {
		return fmt.Errorf("%w: process %d listens at its socket, which is not of the plugin (%d)", ErrProtocol, pid, p.PID)
	}
	return nil
}

// OpenFrames opens a connection for frames. It is closed when the process is freed.
func (p *Process) OpenFrames(ctx context.Context) (*transport.HostFrames, error) {
	c, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(p.life, func() { _ = c.Close() })
	return transport.OpenHostFrames(c.(*net.UnixConn), p.spec.MaxMessage)
}

// takeStdio logs what a plugin prints that uses go-plugin without package serve: go-plugin keeps
// that until a host asks for it. Other plugins, and those with package serve, print to their
// standard output and error.
func (p *Process) takeStdio() {
	s, err := p.RPC.NewStream(p.stdio, &grpc.StreamDesc{ServerStreams: true}, "/plugin.GRPCStdio/StreamStdio")
	if err != nil || s.SendMsg(&emptypb.Empty{}) != nil || s.CloseSend() != nil {
		return
	}

	// It comes in pieces that end anywhere. A secret in a line is whole only if the line is.
	printed := map[string]*io.PipeWriter{}
	for _, channel := range []string{"stdout", "stderr"} {
		lines, w := io.Pipe()
		defer w.Close()
		printed[channel] = w
		p.watch.Go(func() { eachLine(lines, func(line []byte) { p.out.print(channel, line) }) })
	}
	for {
		var data emptypb.Empty // its fields are unknown to Empty
		if s.RecvMsg(&data) != nil {
			return
		}
		channel, text := stdioData(data.ProtoReflect().GetUnknown())
		_, _ = printed[channel].Write(text)
	}
}

// Watch tells the process who calls it. From then on what it prints is taken until the calls end,
// and the connection ends when the process has.
func (p *Process) Watch(calls Calls) {
	p.calls = calls
	p.watch.Go(func() {
		<-calls.Gone()
		p.EndStdio()
	})
	if p.child == nil {
		return
	}
	p.watch.Go(func() {
		<-p.child.Done
		select { // answers that it sent before it ended are read
		case <-calls.Gone():
		case <-time.After(transport.LastWords):
		}
		p.end()
	})
}

// EndStdio ends the stream of what is printed. A plugin ends when all its streams have ended.
func (p *Process) EndStdio() { p.endStdio() }

// Context is done when the connection to the process is to end.
func (p *Process) Context() context.Context { return p.life }

// SetName sets the name of the plugin in logs and errors.
func (p *Process) SetName(name string) {
	p.name = name
	p.out.setLog(p.log.With("plugin", name))
}

// Secrets are the values of the environment variables that the plugin was granted.
func (p *Process) Secrets() message.Secrets { return p.out.secret }

// Log logs a record that came from the plugin.
func (p *Process) Log(record *wire.Log) { p.out.record(record) }

// Untouched returns an ErrDigest if a pinned file, or what leads to it, was touched since the
// start. It is called once.
func (p *Process) Untouched() error {
	if p.files == nil {
		return nil
	}
	defer p.releaseFiles()
	return p.files.Untouched()
}

// releaseFiles ends what watches the pinned files.
func (p *Process) releaseFiles() {
	if p.files != nil {
		p.files.Close()
		p.files = nil
	}
}

// KeepRunning detaches the process from the context of Start, which does not kill it any more. It
// returns an error if that context is done already.
func (p *Process) KeepRunning(ctx context.Context) error {
	if p.released != nil && !p.released() {
		return context.Cause(ctx)
	}
	return nil
}

// RemoveSocket removes the socket and its directory: no further connection is made, and nothing
// is left if the host dies.
func (p *Process) RemoveSocket() {
	if p.dir != nil {
		p.dir.Remove()
		p.dir = nil
	}
}

// SocketDir is the directory in which the plugin is to make its socket.
func (p *Process) SocketDir() string { return p.dir.Path }

// Traced reports whether a debugger traces the process. It is known on Linux only.
func (p *Process) Traced() bool { return sandbox.Traced(p.PID) }

// CloseStdin closes the standard input of the process, as it is when the host ends.
func (p *Process) CloseStdin() error { return p.child.Stdin.Close() }

// Terminate sends SIGTERM to the process and to those that it has started.
func (p *Process) Terminate() { p.child.Signal(sigterm) }

// Ends waits until the process has ended, for d at most, and reports whether it has.
func (p *Process) Ends(d time.Duration) bool { return p.child.EndsWithin(d) }
