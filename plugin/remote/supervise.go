package remote

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// generation is one process of a plugin in its time.
type generation struct {
	*launched
	number   int
	config   Config
	since    time.Time
	breakers map[plugin.Hook]*breaker

	retired chan struct{} // closed when a newer one serves new invocations
	idle    chan struct{} // closed when it is retired, and nothing is left that it serves

	// Host.mu guards these.
	calls, invocations int
	ending             bool // it gets no more calls
}

func (g *generation) serves() bool {
	select {
	case <-g.conn.gone:
		return false
	default:
		return !g.ending
	}
}

// A Host keeps a plugin's process running, and calls its hooks.
//
// A call ends with the plugin's answer, or fails by its timeout (plugin.ErrTimeout), when the process
// ends (ErrGone), at once while the plugin is in quarantine (ErrQuarantined) or the hook has only failed
// of late (ErrBreaker), and once the host is closed (ErrClosed). Failures are errors, so they are
// closed; plugin.FailOpen around the plugin opens them. No call is ever made twice.
//
// A process that ends is replaced at once, and if that goes on, after a pause that doubles from 100 ms on
// and is forgotten once a process has run for a minute. One that misses two heartbeats, of which there is one
// every 5 seconds, is killed and replaced; a hook that takes long misses none, nor does a process that a debugger
// traces (on Linux). Calls wait for the replacement
// within their own timeout. After 5 ends or failed starts within 10 minutes the plugin is in quarantine; at once
// if a replacement is not what the first process was: of another digest, refusing its settings, with other
// hooks.
//
// A hook that has failed 5 times in a row, or in half of its last 20 calls, is not called for a second;
// then one call tries it, and the pause doubles up to 30 seconds until one succeeds. Any answer but an
// error counts as a success, so does a refusal by policy.
//
// Of a plugin that is attached (Config.Attach) the host has the connection, and no process to look after: there are no
// heartbeats, no quarantine and no kills. If the connection ends, calls fail with ErrGone, and each call that
// comes then tries once to connect again. Close ends the connection.
//
// An invocation keeps the process that it began with, also when another takes over in Reload. If that one
// ends, the invocation goes on with its replacement, which is sent what it needs and gets the AfterRun.
type Host struct {
	name   string
	launch launch
	log    *slog.Logger
	plugin *plugin.Plugin
	sub    *wire.Subscription

	ctx       context.Context // cancelled when Close has waited for calls: everything ends
	cancel    context.CancelFunc
	hard      context.Context // cancelled when Close may not wait any more
	kill      context.CancelFunc
	all       sync.WaitGroup
	reloading chan struct{} // has an element while a Reload is on
	closing   sync.Once
	closed    error

	mu          sync.Mutex
	state       State
	since       time.Time
	changed     chan struct{} // closed, and made anew, when state or current change
	current     *generation   // serves new invocations; nil if none does
	latest      *generation   // is or was current
	generations map[*generation]bool
	invocations pins
	started     int
	restarts    int
	calls       int           // in flight
	quiet       chan struct{} // closed when it is closed and no call is in flight
	made        uint64
	failures    uint64
	last        error // the last failure
	crashes     crashes
	stopRestart context.CancelFunc
}

// openHost starts a plugin's first process.
func openHost(ctx context.Context, c Config, launch launch) (*Host, error) {
	h := &Host{launch: launch, reloading: make(chan struct{}, 1), changed: make(chan struct{}),
		quiet: make(chan struct{}), generations: map[*generation]bool{}, stopRestart: func() {}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.hard, h.kill = context.WithCancel(context.Background())
	g, err := h.start(ctx, c)
	if err != nil {
		h.cancel()
		h.kill()
		return nil, err
	}
	h.sub = g.sub
	h.plugin = message.Hooks(g.sub, h.call)
	h.name = cmp.Or(c.Name, g.about.GetName())
	h.plugin.Name, h.plugin.Doc, h.plugin.Close = h.name, g.about.GetDoc(), h.Close
	h.log = g.config.Log.With("plugin", h.name)
	h.mu.Lock()
	h.install(g)
	h.mu.Unlock()
	h.log.Debug("plugin started", g.attrs()...)
	return h, nil
}

func (g *generation) attrs() []any {
	return []any{"generation", g.number, "pid", g.pid, "version", g.about.GetVersion()}
}

// install makes g the one that serves new invocations, and begins to watch it. h.mu is held.
func (h *Host) install(g *generation) {
	h.started++
	g.number, g.since = h.started, time.Now()
	g.breakers = map[plugin.Hook]*breaker{}
	for _, hook := range h.plugin.Subscribes() {
		g.breakers[hook] = &breaker{plugin: h.name, hook: hook}
	}
	if old := h.current; old != nil {
		close(old.retired)
	}
	h.generations[g] = true
	h.current, h.latest = g, g
	h.become(Ready)
	h.settle()
	h.all.Go(func() { h.watch(g) })
}

// become notes a state, and wakes who waits for one. h.mu is held.
func (h *Host) become(s State) {
	if s != h.state {
		h.state, h.since = s, time.Now()
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// Plugin returns the plugin. Its Close is the host's.
func (h *Host) Plugin() *plugin.Plugin {
	p := *h.plugin
	return &p
}

// Health returns how the plugin is.
func (h *Host) Health() Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Health{State: h.state, Since: h.since, Generation: h.started, Restarts: h.restarts, Calls: h.made, Failures: h.failures,
		Version: h.latest.about.GetVersion(), Digest: h.latest.config.SHA256}
	if h.last != nil {
		s.LastError = h.last.Error()
	}
	if h.current != nil {
		s.PID = h.current.pid
	}
	return s
}
