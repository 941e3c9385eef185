package remote

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/plughook/plughook/internal/inflight"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// A generation is one process of a plugin, from its start or takeover to its end.
type generation struct {
	*launched
	number   int // from 1
	since    time.Time
	breakers map[plugin.Hook]*breaker

	retired chan struct{} // closed when a newer one serves new invocations
	idle    chan struct{} // closed when it is retired, and nothing is left that it serves

	// Host.mu guards these.
	calls       int  // that are running
	invocations int  // that began with it and have not ended
	ending      bool // it gets no more calls
}

// serves reports whether it can be called. Host.mu is held.
func (g *generation) serves() bool {
	select {
	case <-g.conn.gone:
		return false
	default:
		return !g.ending
	}
}

// attrs are what the log says of it.
func (g *generation) attrs() []any {
	return []any{"generation", g.number, "pid", g.pid, "version", g.about.GetVersion()}
}

// A Host keeps a plugin's process running, and calls its hooks.
//
// A call returns what the plugin answers. It fails
//   - when its time is over: plugin.ErrTimeout;
//   - when the process ends: ErrGone;
//   - at once, while the hook is not called because it failed too often: ErrBreaker;
//   - at once, while the plugin is in quarantine: ErrQuarantined;
//   - once the host is closed: ErrClosed.
//
// The runner ends the run after such an error; plugin.FailOpen around the plugin lets the run go
// on. No call is ever made twice.
//
// A process that ends by itself is replaced at once. If that goes on, there is a pause before
// each start, which doubles from 100 ms to 30 seconds, and is forgotten once a process has run
// for a minute. Calls wait for the replacement within their own timeout. The host sends a
// heartbeat every 5 seconds; a process that misses two in a row is killed and replaced. A hook
// that takes long misses none, nor does a process that a debugger traces (on Linux). After 5 ends
// or failed starts within 10 minutes the plugin is in quarantine; at once if a replacement has
// another digest, refuses its settings, or has other hooks.
//
// A hook that has failed 5 times in a row, or in half of its last 20 calls, is not called for a
// second. Then one call tries it. The pause doubles up to 30 seconds until such a call succeeds.
// Any answer but an error is a success, also one that refuses something.
//
// A plugin that is attached (Config.Attach) has no process that the host looks after: there are
// no heartbeats, no quarantine and no kills. If the connection ends, calls fail with ErrGone, and
// each new call tries once to connect again. Close ends the connection.
//
// All calls of an invocation go to the process that it began with, also after Reload. If that
// process ends, the invocation goes on with the replacement, which is sent all that it needs and
// gets the AfterRun.
type Host struct {
	name   string
	launch launch
	log    *slog.Logger
	plugin *plugin.Plugin
	sub    *wire.Subscription // of the first process

	ctx       context.Context // done when Close has waited for calls: everything ends
	cancel    context.CancelFunc
	hard      context.Context // done when Close may not wait any longer
	kill      context.CancelFunc
	all       sync.WaitGroup   // goroutines
	calls     inflight.Counter // of hooks
	reloading chan struct{}    // has an element while a Reload is on
	closing   sync.Once

	mu          sync.Mutex
	state       State
	since       time.Time     // when the state began
	changed     chan struct{} // closed, and made anew, when state or current change
	current     *generation   // serves new invocations; nil if none does
	latest      *generation   // the last one that was current
	generations map[*generation]bool
	invocations processAffinity
	started     int    // generations
	restarts    int    // of them, those that replaced one that had ended by itself
	made        uint64 // calls
	failures    uint64 // calls that failed
	last        error  // the last failure
	crashes     crashes
	stopRestart context.CancelFunc
	closeErr    error // what Close returns
}

// openHost starts a plugin's first process.
func openHost(ctx context.Context, c Config, launch launch) (*Host, error) {
	h := &Host{
		launch:      launch,
		reloading:   make(chan struct{}, 1),
		changed:     make(chan struct{}),
		generations: map[*generation]bool{},
		stopRestart: func() {},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.hard, h.kill = context.WithCancel(context.Background())
	g, err := h.start(ctx, c)
	if err != nil {
		h.cancel()
		h.kill()
		return nil, err
	}

	// Make the plugin of what the process says of itself.
	h.sub = g.sub
	h.name = cmp.Or(c.Name, g.about.GetName())
	h.plugin = message.Hooks(g.sub, h.call)
	h.plugin.Name = h.name
	h.plugin.StateName = g.about.GetName()
	h.plugin.Program = c.program()
	h.plugin.Doc = g.about.GetDoc()
	h.plugin.Close = h.Close

	h.log = g.config.Log.With("plugin", h.name)
	h.mu.Lock()
	h.install(g)
	h.mu.Unlock()
	h.log.Debug("plugin started", g.attrs()...)
	return h, nil
}

// install makes g the generation that serves new invocations, and begins to watch it. h.mu is held.
func (h *Host) install(g *generation) {
	h.started++
	g.number = h.started
	g.since = time.Now()
	g.breakers = map[plugin.Hook]*breaker{}
	for _, hook := range h.plugin.Subscribes() {
		g.breakers[hook] = &breaker{plugin: h.name, hook: hook}
	}
	if old := h.current; old != nil {
		close(old.retired)
	}
	h.generations[g] = true
	h.current = g
	h.latest = g
	h.setState(Ready)
	h.markIdle()
	h.all.Go(func() { h.watch(g) })
}

// setState sets the state, and wakes the calls that wait for a change. h.mu is held.
func (h *Host) setState(s State) {
	if s != h.state {
		h.state = s
		h.since = time.Now()
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// Plugin returns the plugin. Its Close is the host's.
func (h *Host) Plugin() *plugin.Plugin {
	p := *h.plugin
	return &p
}
