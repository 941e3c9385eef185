package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/callee"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// fakeProcesses starts a plugin's processes in memory.
type fakeProcesses struct {
	// plugin is what a process serves.
	plugin func(p *fakeProcess) *plugin.Plugin
	// start, if there is one, takes the time of a start, and fails it.
	start func(ctx context.Context, p *fakeProcess) error
	// answer, if there is one, may change what the process sends, or send something else: false
	// if it has.
	answer func(p *fakeProcess, m *wire.PluginMessage) bool

	mu  sync.Mutex
	all []*fakeProcess
	log bytes.Buffer
}

// fakeProcess is a process in memory.
type fakeProcess struct {
	*loop
	n        int // from 1
	config   Config
	kill     context.CancelFunc
	conn     *conn
	frozen   chan struct{} // closed when it takes no message any more
	freeze   func()
	work     sync.WaitGroup
	mute     atomic.Bool // it sends no pong
	debugged atomic.Bool
	limit    int // of messages, in bytes
	stopped  bool
	calls    int // that it was sent
	of       *fakeProcesses
}

func (f *fakeProcesses) launch(ctx context.Context, c Config, _ *slog.Logger) (*launched, error) {
	life, kill := context.WithCancel(context.Background())
	p := &fakeProcess{
		loop:   &loop{ctx: life, toPlugin: make(chan []byte), toHost: make(chan []byte)},
		config: c,
		kill:   kill,
		frozen: make(chan struct{}),
		limit:  1 << 20,
		of:     f,
	}
	p.freeze = sync.OnceFunc(func() { close(p.frozen) })
	f.mu.Lock()
	f.all = append(f.all, p)
	p.n = len(f.all)
	f.mu.Unlock()
	if f.start != nil {
		if err := f.start(ctx, p); err != nil {
			kill()
			f.mu.Lock()
			p.stopped = true
			f.mu.Unlock()
			return nil, err
		}
	}
	plug := f.plugin(p)
	p.conn = newConn(limited{hostEnd{p.loop}, p.limit}, transport.DefaultMaxMessage,
		func(*wire.Log) {})
	p.work.Go(func() {
		_ = callee.Serve(life, p, plug, true)
		kill()
	})
	return &launched{
		conn:   p.conn,
		about:  &wire.Description{Name: "guard", Version: fmt.Sprintf("1.0.%d", p.n)},
		sub:    message.Subscription(plug),
		pid:    1000 + p.n,
		traced: p.debugged.Load,
		stop:   p.stop,
	}, nil
}

// stop is how a process is stopped: asked, and killed if it does not listen.
func (p *fakeProcess) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	_ = p.conn.Drain()
	select {
	case <-p.ctx.Done():
	case <-ctx.Done():
	}
	p.kill()
	p.work.Wait()
	p.conn.all.Wait()
	p.of.mu.Lock()
	p.stopped = true
	p.of.mu.Unlock()
	return nil
}

func (p *fakeProcess) ended() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return p.stopped
}

// die ends the process and returns when the host has seen it.
func (p *fakeProcess) die() {
	p.kill()
	<-p.conn.gone
}

// Recv and Send are the process's end of the stream.
func (p *fakeProcess) Recv() (*wire.HostMessage, error) {
	select {
	case <-p.frozen:
		<-p.ctx.Done()
	default:
	}
	m, err := pluginEnd{p.loop}.Recv()
	if m.GetCall() != nil {
		p.of.mu.Lock()
		p.calls++
		p.of.mu.Unlock()
	}
	return m, err
}

func (p *fakeProcess) Send(m *wire.PluginMessage) error {
	select {
	case <-p.frozen:
		return nil // as if it were on its way
	default:
	}
	if m.GetPong() != nil && p.mute.Load() {
		return nil
	}
	if m.GetPong() == nil && p.of.answer != nil && !p.of.answer(p, m) {
		return nil
	}
	return pluginEnd{p.loop}.Send(m)
}

// limited is a stream that ends when a message is too large.
type limited struct {
	stream
	max int
}

func (l limited) Recv() (*wire.PluginMessage, error) {
	m, err := l.stream.Recv()
	if n := proto.Size(m); err == nil && n > l.max {
		err = fmt.Errorf("message of %d bytes", n)
	}
	return m, err
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	require.TestingT
	Context() context.Context
	Cleanup(func())
}

// open opens a host of fake processes, with its log in f.log.
func (f *fakeProcesses) open(t tester, c Config) *Host {
	c.Name = "guard"
	c.Log = slog.New(
		slog.NewTextHandler(&locked{f: f}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := openHost(t.Context(), c, f.launch)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

type locked struct{ f *fakeProcesses }

func (l *locked) Write(b []byte) (int, error) {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	return l.f.log.Write(b)
}

// logged returns the log so far.
func (f *fakeProcesses) logged() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.String()
}

// process returns the nth process, the last if n is 0.
func (f *fakeProcesses) process(n int) *fakeProcess {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n == 0 {
		n = len(f.all)
	}
	return f.all[n-1]
}

func (f *fakeProcesses) starts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all)
}

// done closes the host and requires that nothing is left.
func (f *fakeProcesses) done(t tester, h *Host) {
	require.NoError(t, h.Close(context.Background()))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.all {
		require.True(t, p.stopped, "process %d", p.n)
	}
	require.Empty(t, h.generations)
	require.Empty(t, h.calls.Running())
}

// pluginWith returns a plugin with these hooks. They answer what do does, or nothing if that is
// nil.
func pluginWith(
	do func(ctx context.Context, hook plugin.Hook, inv *session.Invocation) (plugin.Outcome, error),
	list ...plugin.Hook,
) *plugin.Plugin {
	s := &wire.Subscription{}
	for _, hook := range list {
		s.Hooks = append(s.Hooks, message.WireHook[hook])
	}
	p := message.Hooks(
		s,
		func(ctx context.Context, inv *session.Invocation, a plugin.Args) (plugin.Outcome, error) {
			if do == nil {
				return plugin.Outcome{}, nil
			}
			return do(ctx, a.Hook, inv)
		},
	)
	p.Name = "guard"
	return p
}

var allHooks = []plugin.Hook{plugin.BeforeRun, plugin.BeforeModel, plugin.OnEvent, plugin.AfterRun}

// fire calls a hook of an invocation, as a runner does.
func fire(
	ctx context.Context,
	p *plugin.Plugin,
	hook plugin.Hook,
	id string,
) (plugin.Outcome, error) {
	inv := &session.Invocation{ID: id, Key: session.Key{App: "app", User: "ann", ID: "s"}}
	switch hook {
	case plugin.BeforeRun:
		return p.BeforeRun(ctx, inv)
	case plugin.BeforeModel:
		return p.BeforeModel(ctx, inv, &model.Request{})
	case plugin.OnEvent:
		return p.OnEvent(ctx, inv, session.Message("hello"))
	}
	return p.AfterRun(ctx, inv, plugin.End{Kind: plugin.EndDone})
}

// turn runs one input under plugins, with an agent that asks a model once.
func turn(
	t testing.TB,
	input string,
	plugins ...*plugin.Plugin,
) (events []*session.Event, models int, err error) {
	bot := agent.New(
		"bot",
		"",
		func(ctx context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				_, err := h.BeforeModel(ctx, func(*session.Invocation) (*model.Request, error) {
					return &model.Request{
						Agent:    "bot",
						Contents: []*genai.Content{genai.NewContentFromText(input, "user")},
					}, nil
				})
				if errors.Is(err, agent.ErrEnded) {
					return
				}
				if models++; err != nil {
					yield(nil, err)
					return
				}
				yield(session.Reply("answer"), nil)
			}
		},
	)
	r, err := runner.New(runner.Options{Agent: bot, Sessions: memory.New(), Plugins: plugins})
	require.NoError(t, err)
	for e, failure := range r.Run(context.Background(), session.Key{App: "app", User: "ann", ID: "s"}, session.Message(input), session.RunConfig{Create: true}) {
		if err = failure; err == nil {
			events = append(events, e)
		}
	}
	require.NoError(t, r.Close(context.Background()))
	return events, models, err
}
