package runner

import (
	"context"
	"fmt"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// laneLimit is how many calls an observer may be behind, on one session.
const laneLimit = 4096

// lanes has the lane of each observer on each session, as long as there is something to call.
type lanes struct {
	mu sync.Mutex
	of map[laneKey]*lane
}

type laneKey struct {
	plugin  int
	session session.Key
}

// lane has an observer's calls on one session, the first to be called next. lanes.mu guards it.
type lane struct {
	calls  []func(missed int)
	missed int
}

// add has f called after those before it on the same lane, and tells it how many calls were dropped
// since. If too many wait, f is dropped, unless it must not be.
func (l *lanes) add(w *work, key laneKey, name string, must bool, f func(missed int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[laneKey]*lane{}
	}
	at := l.of[key]
	if at == nil {
		at = &lane{}
		l.of[key] = at
		defer func() { go l.drain(key, at, w.more(name)) }()
	}
	if len(at.calls) >= laneLimit && !must {
		at.missed++
		return
	}
	at.calls = append(at.calls, f)
}

func (l *lanes) drain(key laneKey, at *lane, done func()) {
	ended := false
	defer func() {
		if !ended { // a call has ended its goroutine: the others are called on another one
			go l.drain(key, at, done)
		}
	}()
	for {
		l.mu.Lock()
		if len(at.calls) == 0 {
			delete(l.of, key)
			l.mu.Unlock()
			ended = true
			done()
			return
		}
		f, missed := at.calls[0], at.missed
		at.calls, at.missed = at.calls[1:], 0
		l.mu.Unlock()
		f(missed)
	}
}

// observe has an observer called with what is at hand, which is the observer's own.
func (x *run) observe(ctx context.Context, i int, hook plugin.Hook, args hookArgs) {
	p := x.opt.Plugins[i]
	now := *x.invocation()
	o := &run{Runner: x.Runner, id: x.id, key: x.key, now: &now}
	x.lanes.add(&x.work, laneKey{i, x.key}, "observer "+p.Name, hook == plugin.AfterRun, func(missed int) {
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
		if missed > 0 {
			x.opt.Log.Warn("observer fell behind", "plugin", p.Name, "session", o.key, "invocation", o.id, "missed", missed)
		}
	})
}
