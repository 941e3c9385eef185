package runner

import (
	"context"
	"fmt"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// laneLimit is how many calls an observer may be behind, on one session, and laneBytes how many bytes the
// events of several of them may have.
const (
	laneLimit = 4096
	laneBytes = 64 << 20
)

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
	calls  []laneCall
	bytes  int // of calls
	missed int
}

type laneCall struct {
	f     func(missed int)
	bytes int // that it holds, about
}

// add has c called after those before it on the same lane, and tells it how many calls were dropped
// since. If too many wait, or hold too much, c is dropped, unless it must not be.
func (l *lanes) add(w *work, key laneKey, name string, must bool, c laneCall) {
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
	if full := len(at.calls) >= laneLimit || len(at.calls) > 0 && at.bytes+c.bytes > laneBytes; full && !must {
		at.missed++
		return
	}
	at.calls = append(at.calls, c)
	at.bytes += c.bytes
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
		c, missed := at.calls[0], at.missed
		at.calls[0] = laneCall{} // or the slice would hold it
		at.calls, at.missed = at.calls[1:], 0
		at.bytes -= c.bytes
		l.mu.Unlock()
		c.f(missed)
	}
}

// observe has an observer called with what is at hand, which is the observer's own.
func (x *run) observe(ctx context.Context, i int, hook plugin.Hook, args hookArgs) {
	p := x.opt.Plugins[i]
	now := *x.invocation()
	o := &run{Runner: x.Runner, id: x.id, key: x.key, now: &now}
	f := func(missed int) {
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
	}
	x.lanes.add(&x.work, laneKey{i, x.key}, "observer "+p.Name, hook == plugin.AfterRun, laneCall{f, weight(args.event)})
}

// weight returns about how many bytes an event's words and media have.
func weight(e *session.Event) int {
	if e == nil {
		return 0
	}
	n := wordsOf(e.Actions.StateDelta, 0)
	for _, p := range partsOf(e) {
		if p == nil {
			continue
		}
		n += len(p.Text)
		if p.FunctionCall != nil {
			n += wordsOf(p.FunctionCall.Args, 0)
		}
		if p.FunctionResponse != nil {
			n += wordsOf(p.FunctionResponse.Response, 0)
		}
	}
	for _, b := range blobsOf(e) {
		n += len(b.Data)
	}
	return n
}

// wordsOf counts the bytes of the strings in a JSON value, down to where they use to be.
func wordsOf(v any, depth int) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case map[string]any:
		for _, v := range v {
			if depth < 6 {
				n += wordsOf(v, depth+1)
			}
		}
	case []any:
		for _, v := range v {
			if depth < 6 {
				n += wordsOf(v, depth+1)
			}
		}
	}
	return n
}
