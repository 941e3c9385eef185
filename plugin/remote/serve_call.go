package remote

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// call takes in a call, and returns what answers it, nil if it was refused.
func (x *server) call(ctx context.Context, seq uint64, w *wire.Call) (answer func()) {
	inv, a, err := x.args(w)
	if err != nil { // the host has told it nonsense; every later call could be wrong
		x.reply(failure(seq, fmt.Errorf("remote: the host's message: %w", err)))
		return nil
	}
	var cancel context.CancelFunc
	if w.Remaining != nil {
		ctx, cancel = context.WithTimeoutCause(ctx, w.Remaining.AsDuration(), plugin.ErrTimeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	ctx = withTraceparent(ctx, w.Traceparent)
	x.mu.Lock()
	x.cancels[seq] = cancel
	x.mu.Unlock()
	x.calls.Add(1)
	return func() {
		defer x.calls.Done()
		defer func() {
			x.mu.Lock()
			delete(x.cancels, seq)
			x.mu.Unlock()
			cancel()
		}()
		x.answer(ctx, seq, inv, a)
	}
}

// args returns what a call is about.
func (x *server) args(w *wire.Call) (inv *session.Invocation, a args, err error) {
	inv, c, err := x.copies.invocation(w.GetInvocation())
	if err != nil {
		return nil, a, err
	}
	for hook, h := range wireHook {
		if h == w.Hook {
			a.hook = hook
		}
	}
	if len(w.Event) > 0 {
		if a.event, err = decodeEvent(w.Event); err != nil {
			return nil, a, err
		}
		if a.event.ID != "" && !a.event.Partial {
			c.offered[a.event.ID] = a.event
		}
	}
	if w.Request != nil {
		if a.request, err = decodeRequest(w.Request, c.contents); err != nil {
			return nil, a, err
		}
		c.contents = a.request.Contents
	}
	if w.End != nil {
		a.end = plugin.End{Kind: plugin.EndKind(w.End.Kind), Plugin: w.End.Plugin, Reason: w.End.Reason}
		if w.End.Error != nil {
			a.end.Err = decodeError(w.End.Error, Secrets{})
		}
		clear(c.offered)
	}
	return inv, a, nil
}

// answer calls the hook and sends what it answers, also if it panics or ends its goroutine.
func (x *server) answer(ctx context.Context, seq uint64, inv *session.Invocation, a args) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		if p == nil {
			p = "runtime.Goexit"
		}
		x.reply(&wire.PluginMessage{Seq: seq, Message: &wire.PluginMessage_Failure{Failure: &wire.Failure{
			Error: &wire.Error{Message: fmt.Sprint(p)}, Stack: string(debug.Stack())}}})
	}()
	unchanged := func() error { return nil }
	if x.strict {
		unchanged = watch(inv, a.event)
	}
	m := x.hook(ctx, seq, inv, a)
	returned = true
	if err := unchanged(); err != nil {
		m = failure(seq, err)
	}
	x.reply(m)
}

// watch returns what says whether an invocation and an event were changed in place since.
func watch(inv *session.Invocation, e *session.Event) func() error {
	was := *inv
	var before []byte
	if e != nil {
		before, _ = e.MarshalJSON()
	}
	return func() error {
		if !reflect.DeepEqual(was, *inv) {
			return fmt.Errorf("%w: the invocation", plugin.ErrInPlace)
		}
		if e != nil {
			if after, _ := e.MarshalJSON(); !bytes.Equal(before, after) {
				return plugin.ErrInPlace
			}
		}
		return nil
	}
}

func (x *server) hook(ctx context.Context, seq uint64, inv *session.Invocation, a args) *wire.PluginMessage {
	p := x.plugin
	var out plugin.Outcome
	var err error
	var mine *model.Request
	switch {
	case a.hook == plugin.BeforeRun && p.BeforeRun != nil:
		out, err = p.BeforeRun(ctx, inv)
	case a.hook == plugin.BeforeModel && p.BeforeModel != nil && a.request != nil:
		mine = shallow(a.request)
		out, err = p.BeforeModel(ctx, inv, mine)
	case a.hook == plugin.OnEvent && p.OnEvent != nil && a.event != nil:
		out, err = p.OnEvent(ctx, inv, a.event)
	case a.hook == plugin.AfterRun && p.AfterRun != nil:
		out, err = p.AfterRun(ctx, inv, a.end)
	default:
		err = fmt.Errorf("remote: plugin %s has no hook for this call (%s)", p.Name, a.hook)
	}
	if err != nil {
		return failure(seq, err)
	}
	w, err := encodeOutcome(out)
	if err == nil && mine != nil {
		w.Request, err = changed(a.request, mine)
	}
	if err != nil {
		return failure(seq, fmt.Errorf("%w: %w", plugin.ErrOutcome, err))
	}
	return &wire.PluginMessage{Seq: seq, Message: &wire.PluginMessage_Outcome{Outcome: w}}
}
