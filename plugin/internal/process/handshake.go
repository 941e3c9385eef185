//go:build unix

package process

import (
	"bytes"
	"context"
	"github.com/plughook/plughook/plugin/internal/sandbox"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/plughook/plughook/plugin/internal/transport"
)

// handshake starts the process and reads where it listens. Each process has a go-plugin client of
// its own.
func (p *Process) handshake(ctx context.Context, path string, env []string) error {
	limit := time.Hour // for go-plugin. ctx is done before, and kills the process.
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) + time.Second
	}
	p.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  transport.Handshake,
		Plugins:          goplugin.PluginSet{transport.PluginKind: &transport.GRPCPlugin{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		StartTimeout:     limit,
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.dir.Path},
		Logger:           hclogTo(p.log.With("plugin", p.name)),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			_ = os.Remove(dir) // go-plugin has made it inside of ours; nobody needs it
			env = append(env, cmd.Env...)
			env = append(env, "PLUGIN_UNIX_SOCKET_DIR="+p.dir.Path, transport.EnvMaxMessage+"="+strconv.Itoa(p.spec.MaxMessage))
			r := &processRunner{Process: p, ctx: ctx, path: path, env: env}
			r.line, r.found = io.Pipe()
			return r, nil
		},
	})
	addr, err := p.client.Start()
	if err != nil {
		return err
	}
	p.shaken = true
	p.Address = addr.String()
	return nil
}

// processRunner runs a process for go-plugin. It shows go-plugin only the one line of standard
// output that is the handshake.
type processRunner struct {
	*Process
	ctx   context.Context
	path  string
	env   []string
	line  *io.PipeReader
	found *io.PipeWriter
}

// Start implements runner.Runner.
func (r *processRunner) Start(context.Context) error {
	p := r.Process
	o := sandbox.Order{
		Path:      r.path,
		Args:      p.spec.Command,
		Dir:       p.spec.Dir,
		Env:       r.env,
		Network:   p.spec.Network,
		Isolation: p.spec.Isolation,
		Limits:    p.spec.Limits,
	}
	if p.image != nil {
		o.Path, o.Image = p.image.Executable()
	}
	c, err := sandbox.Start(r.ctx, o, p.log.With("plugin", p.name))
	if err != nil {
		return err
	}
	p.child = c
	p.PID = c.PID
	p.released = context.AfterFunc(r.ctx, c.Kill)
	var reading sync.WaitGroup
	reading.Go(func() {
		findHandshake(io.TeeReader(c.Stdout, &p.stdout), r.shake, func(line []byte) { p.out.print("stdout", line) })
	})
	reading.Go(func() {
		eachLine(io.TeeReader(c.Stderr, &p.stderr), func(line []byte) { p.out.print("stderr", line) })
	})
	go func() { reading.Wait(); close(p.read) }()
	return nil
}

// shake passes the handshake on to go-plugin, or the reason why there is none.
func (r *processRunner) shake(line string, err error) {
	if err == nil {
		_, err = io.WriteString(r.found, line+"\n")
	} else {
		if line != "" { // it is in the error
			err = checkHandshake(r.out.secret.Replace(line))
		}
		r.unshaken = err
	}
	_ = r.found.CloseWithError(err)
}

// Wait implements runner.Runner.
func (r *processRunner) Wait(context.Context) error {
	<-r.child.Done
	return nil
}

// Kill implements runner.Runner. go-plugin calls it when there was no handshake. A process that
// is about to end by itself gets the time to do so, and its exit status then says why.
func (r *processRunner) Kill(context.Context) error {
	if !r.child.EndsWithin(transport.LastWords) {
		r.child.Kill()
	}
	return nil
}

// Stdout implements runner.Runner.
func (r *processRunner) Stdout() io.ReadCloser { return r.line }

// Stderr implements runner.Runner. The standard error of the process goes to the log without
// go-plugin.
func (r *processRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name implements runner.Runner.
func (r *processRunner) Name() string { return r.spec.Command[0] }

// ID implements runner.Runner.
func (r *processRunner) ID() string {
	if r.child == nil {
		return ""
	}
	return strconv.Itoa(r.PID)
}

// Diagnose implements runner.Runner.
func (r *processRunner) Diagnose(context.Context) string { return "" }

// PluginToHost implements runner.Runner.
func (r *processRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin implements runner.Runner.
func (r *processRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// hclogTo returns a log for go-plugin, whose records are debug records of log.
func hclogTo(log *slog.Logger) hclog.Logger {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return hclog.NewNullLogger()
	}
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: debugLines{log}, DisableTime: true})
}

type debugLines struct{ log *slog.Logger }

func (d debugLines) Write(p []byte) (int, error) {
	eachLine(bytes.NewReader(p), func(line []byte) { d.log.Debug("go-plugin", "line", string(line)) })
	return len(p), nil
}
