package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// launched is a process that has taken its settings and can be called.
type launched struct {
	conn  *conn
	about *wire.Description
	sub   *wire.Subscription
	pid   int
	// stop ends it, if it has not ended, and returns once nothing of it is left. It is bounded in time
	// by itself, and kills at once when the context is done.
	stop func(context.Context) error
}

type launch func(ctx context.Context, c Config, log *slog.Logger) (*launched, error)

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
// A process that ends, or misses two heartbeats in a row (one every 5 seconds) and is killed, is replaced at once, later after a
// pause that grows to 30 seconds and is forgotten after a minute without an end. Calls wait for the
// replacement within their own timeout. After 5 ends or failed starts within 10 minutes the plugin is in
// quarantine; at once if the replacement is not what the first process was: of another digest,
// refusing its settings, with other hooks.
//
// A hook that has failed 5 times in a row, or in half of its last 20 calls, is not called for a second;
// then one call tries it, and the pause doubles up to 30 seconds until one succeeds. Any answer but an
// error counts as a success, so does a refusal by policy.
//
// An invocation keeps the process that it began with, also while another takes over in Reload. If
// that one ends, the invocation goes on with its replacement, which is sent what it needs and gets the
// AfterRun.
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
	h.plugin = hooks(g.sub, h.call)
	h.name = cmp.Or(c.Name, g.about.GetName())
	h.plugin.Name, h.plugin.Doc, h.plugin.Close = h.name, g.about.GetDoc(), h.Close
	h.log = g.config.Log.With("plugin", h.name)
	h.mu.Lock()
	h.install(g)
	h.mu.Unlock()
	h.log.Info("plugin started", g.attrs()...)
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

// call calls a hook.
func (h *Host) call(ctx context.Context, inv *session.Invocation, a args) (plugin.Outcome, error) {
	limit, began := h.limit(a.hook), time.Now()
	within, cancel := context.WithTimeoutCause(ctx, limit, plugin.ErrTimeout)
	defer cancel()
	out, err := h.through(within, inv, a)
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil { // the caller has left
		return plugin.Outcome{}, err
	}
	if time.Since(began) >= limit {
		if errors.Is(err, context.DeadlineExceeded) { // the plugin was first to see it
			err = fmt.Errorf("%w: %w", plugin.ErrTimeout, err)
		}
		if errors.Is(err, plugin.ErrTimeout) {
			err = fmt.Errorf("%w (it has %v)", err, limit)
		}
	}
	h.mu.Lock()
	h.failures++
	h.last = err
	h.mu.Unlock()
	return plugin.Outcome{}, err
}

// limit returns a hook's timeout.
func (h *Host) limit(hook plugin.Hook) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	switch c := &h.latest.config; {
	case c.Timeouts[hook] > 0:
		return c.Timeouts[hook]
	case hook == plugin.AfterRun && h.plugin.Background:
		return c.BackgroundTimeout
	default:
		return c.Timeout
	}
}

// through calls a hook of the generation that serves the invocation.
func (h *Host) through(ctx context.Context, inv *session.Invocation, a args) (out plugin.Outcome, err error) {
	g, err := h.enter(ctx, inv.ID)
	if err != nil {
		return out, err
	}
	defer h.leave(g, inv.ID, a.hook)
	b := g.breakers[a.hook]
	probe, err := b.enter()
	if err != nil {
		return out, err
	}
	how := unknown // it panics
	defer func() {
		if became := b.leave(probe, how, err); became == "open" {
			h.log.Warn("plugin hook not called for a while", "hook", a.hook, "generation", g.number, "error", err)
		} else if became == "closed" {
			h.log.Info("plugin hook called again", "hook", a.hook, "generation", g.number)
		}
	}()
	out, err = g.conn.call(ctx, inv, a)
	switch {
	case err == nil:
		how = succeeded
	case errors.Is(err, ErrGone), ctx.Err() != nil && !errors.Is(context.Cause(ctx), plugin.ErrTimeout):
	default:
		how = failed
	}
	return out, err
}

// enter returns the generation that serves an invocation, waiting for one if need be.
func (h *Host) enter(ctx context.Context, id string) (*generation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		if h.state == Closed {
			return nil, fmt.Errorf("%w: %s", ErrClosed, h.name)
		}
		g := h.invocations.of(id)
		if g == nil || !g.serves() {
			g = h.current
		}
		if g != nil && g.serves() {
			h.invocations.begin(id, g)
			g.calls++
			h.calls++
			return g, nil
		}
		if h.state == Quarantined {
			return nil, fmt.Errorf("%w: %s: the last error: %w; reload it or restart the runner when that is mended", ErrQuarantined, h.name, h.crashes.last)
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
			h.mu.Lock()
		case <-ctx.Done():
			h.mu.Lock()
			err := context.Cause(ctx)
			if h.crashes.last != nil {
				err = fmt.Errorf("%w: it is starting again after: %w", err, h.crashes.last)
			}
			return nil, err
		}
	}
}

// leave is called when a call that had entered has ended.
func (h *Host) leave(g *generation, id string, hook plugin.Hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g.calls--
	if hook == plugin.AfterRun {
		h.invocations.end(id)
	}
	h.settle()
	if h.calls--; h.calls == 0 && h.state == Closed {
		close(h.quiet)
	}
}

// settle tells retired generations that have nothing left to serve. h.mu is held.
func (h *Host) settle() {
	if len(h.generations) < 2 {
		return
	}
	for g := range h.generations {
		if g != h.current && g.calls == 0 && g.invocations == 0 {
			select {
			case <-g.idle:
			default:
				close(g.idle)
			}
		}
	}
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
