package callee

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// call decodes a call of a hook, and returns the function that calls the hook and sends its answer. It returns
// nil if the call made no sense and was answered with a failure.
func (x *server) call(ctx context.Context, seq uint64, w *wire.Call) (answer func()) {
	inv, a, err := x.args(w)
	if err != nil { // the message makes no sense
		x.reply(message.Failure(seq, fmt.Errorf("remote: the host's message makes no sense: %w", err)))
		return nil
	}
	var cancel context.CancelFunc
	if w.Remaining != nil {
		ctx, cancel = context.WithTimeoutCause(ctx, w.Remaining.AsDuration(), plugin.ErrTimeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	ctx = message.WithTraceparent(ctx, w.Traceparent)
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

// args returns what the hook is to be called with.
func (x *server) args(w *wire.Call) (inv *session.Invocation, a plugin.Args, err error) {
	inv, c, err := x.received.invocation(w.GetInvocation())
	if err != nil {
		return nil, a, err
	}
	a.Hook = message.HookOf[w.Hook]
	switch {
	case a.Hook == plugin.OnEvent && len(w.Event) == 0:
		return nil, a, errors.New("a call of OnEvent has no event")
	case a.Hook == plugin.BeforeModel && w.Request == nil:
		return nil, a, errors.New("a call of BeforeModel has no request")
	}
	if len(w.Event) > 0 {
		a.Event, err = message.DecodeEvent(w.Event)
		if err != nil {
			return nil, a, err
		}
		if a.Event.ID != "" && !a.Event.Partial {
			c.offered[a.Event.ID] = a.Event
		}
	}
	if w.Request != nil {
		a.Request, err = message.DecodeRequest(w.Request, c.contents)
		if err != nil {
			return nil, a, err
		}
		c.contents = a.Request.Contents
	}
	if w.End != nil {
		a.End = plugin.End{
			Kind:   plugin.EndKind(w.End.Kind),
			Plugin: w.End.Plugin,
			Reason: w.End.Reason,
		}
		if w.End.Error != nil {
			a.End.Err = message.DecodeError(w.End.Error, message.Secrets{})
		}
		clear(c.offered)
	}
	return inv, a, nil
}

// answer calls the hook and sends its answer. A hook that panics, or ends its goroutine, is
// answered with a failure.
func (x *server) answer(ctx context.Context, seq uint64, inv *session.Invocation, a plugin.Args) {
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
		unchanged = watch(inv, a.Event)
	}
	m := x.hook(ctx, seq, inv, a)
	returned = true
	if err := unchanged(); err != nil {
		m = message.Failure(seq, err)
	}
	x.reply(m)
}

// watch remembers the invocation and the event. The function that it returns compares them with what was
// remembered, and returns ErrInPlace if the hook has changed one.
func watch(inv *session.Invocation, e *session.Event) func() error {
	was := *inv
	was.Clock = nil // functions cannot be compared
	var before []byte
	if e != nil {
		before, _ = e.MarshalJSON()
	}
	return func() error {
		is := *inv
		is.Clock = nil
		if !reflect.DeepEqual(was, is) {
			return fmt.Errorf("%w: the invocation", plugin.ErrInPlace)
		}
		if e != nil {
			after, _ := e.MarshalJSON()
			if !bytes.Equal(before, after) {
				return plugin.ErrInPlace
			}
		}
		return nil
	}
}

// hook calls the hook, and returns the message that is the answer.
func (x *server) hook(ctx context.Context, seq uint64, inv *session.Invocation, a plugin.Args) *wire.PluginMessage {
	given := a
	if given.Request != nil {
		given.Request = shallow(a.Request)
	}
	out, err := x.plugin.Call(ctx, inv, given)
	if err != nil {
		return message.Failure(seq, err)
	}
	w, err := encodeOutcome(out)
	if err == nil && given.Request != nil {
		w.Request, err = changed(a.Request, given.Request)
	}
	if err != nil {
		return message.Failure(seq, fmt.Errorf("%w: %w", plugin.ErrOutcome, err))
	}
	return &wire.PluginMessage{Seq: seq, Message: &wire.PluginMessage_Outcome{Outcome: w}}
}
