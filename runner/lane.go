package runner

import (
	"context"
	"fmt"
	"sync"

	"github.com/plughook/plughook/plugin"
)

// laneLimit is how many calls an observer may be behind, in one invocation.
const laneLimit = 4096

// lane calls one observer's hooks of one invocation, in order, on a goroutine that lives while there is
// something to call.
type lane struct {
	work    *work
	name    string
	mu      sync.Mutex
	calls   []func()
	running bool
	dropped int
}

// add has f called after those before it. If too many wait it is dropped, unless it must not be.
func (l *lane) add(must bool, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) >= laneLimit && !must {
		l.dropped++
		return
	}
	l.calls = append(l.calls, f)
	if !l.running {
		l.running = true
		go l.drain(l.work.more(l.name))
	}
}

func (l *lane) drain(done func()) {
	defer done()
	for {
		l.mu.Lock()
		if len(l.calls) == 0 {
			l.running = false
			l.mu.Unlock()
			return
		}
		f := l.calls[0]
		l.calls = l.calls[1:]
		l.mu.Unlock()
		f()
	}
}

// missed returns how many calls were dropped since it was last asked.
func (l *lane) missed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.dropped
	l.dropped = 0
	return n
}

// observe has an observer called with what is at hand, which is the observer's own.
func (x *run) observe(ctx context.Context, i int, hook plugin.Hook, args hookArgs) {
	p := x.opt.Plugins[i]
	if x.lanes[i] == nil {
		x.lanes[i] = &lane{work: &x.work, name: "observer " + p.Name}
	}
	l := x.lanes[i]
	o := &run{Runner: x.Runner, id: x.id, key: x.key, now: x.invocation()}
	l.add(hook == plugin.AfterRun, func() {
		ctx, cancel := x.work.detach(ctx, x.opt.BackgroundTimeout)
		defer cancel()
		out, err := o.call(ctx, i, hook, args)
		out.Reason = ""
		if err == nil && !out.IsZero() {
			err = &plugin.Error{Plugin: p.Name, Hook: hook, Err: fmt.Errorf("%w: an observer asks nothing", plugin.ErrOutcome)}
		}
		if err != nil {
			x.opt.Log.Warn("observer failed", "plugin", p.Name, "hook", hook, "session", o.key, "invocation", o.id, "error", err)
		}
		if n := l.missed(); n > 0 {
			x.opt.Log.Warn("observer fell behind", "plugin", p.Name, "session", o.key, "invocation", o.id, "missed", n)
		}
	})
}
