package remote

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// args is what is at hand.
type args struct {
	hook    plugin.Hook
	event   *session.Event
	request *model.Request
	end     plugin.End
}

// call calls a hook and waits for what it answers.
func (c *conn) call(ctx context.Context, inv *session.Invocation, a args) (plugin.Outcome, error) {
	answer := make(chan *wire.PluginMessage, 1)
	seq, err := c.send(ctx, inv, a, answer)
	if err != nil {
		return plugin.Outcome{}, err
	}
	select {
	case m := <-answer:
		return c.take(ctx, m, a)
	case <-c.gone:
		select {
		case m := <-answer: // it had answered
			return c.take(ctx, m, a)
		default:
		}
		return plugin.Outcome{}, c.cause
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waiting[seq] != nil {
			delete(c.waiting, seq)
			// A plugin that takes no message would not take this one either.
			_ = c.enqueue(&wire.HostMessage{Seq: seq, Message: &wire.HostMessage_Cancel{Cancel: &wire.Cancel{}}})
		}
		return plugin.Outcome{}, context.Cause(ctx)
	}
}

// take takes an answer, and what it changed of the request, unless it is late once it is decoded.
func (c *conn) take(ctx context.Context, m *wire.PluginMessage, a args) (plugin.Outcome, error) {
	out, request, err := decodeAnswer(m, a, c.secret)
	if err != nil {
		return plugin.Outcome{}, err
	}
	if ctx.Err() != nil {
		return plugin.Outcome{}, context.Cause(ctx)
	}
	if request != nil {
		*a.request = *request
	}
	return out, nil
}

// send sends a call.
func (c *conn) send(ctx context.Context, inv *session.Invocation, a args, answer chan *wire.PluginMessage) (seq uint64, err error) {
	w := &wire.Call{Hook: wireHook[a.hook], Traceparent: traceparent(ctx)}
	if deadline, ok := ctx.Deadline(); ok {
		w.Remaining = durationpb.New(time.Until(deadline))
	}
	if a.event != nil { // outside of the lock: it is most of the work
		if w.Event, err = events.encode(a.event); err != nil {
			return 0, err
		}
	}
	if a.hook == plugin.AfterRun {
		w.End = &wire.End{Kind: string(a.end.Kind), Plugin: a.end.Plugin, Reason: a.end.Reason}
		if a.end.Err != nil {
			w.End.Error = encodeError(a.end.Err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if err != nil { // what the plugin has is not known any more
			c.known.drop(inv.Key)
		}
	}()
	if w.Invocation, err = c.known.invocation(inv); err != nil {
		return 0, err
	}
	s := c.known.session(inv.Key)
	if a.event != nil && !a.event.Partial && a.event.ID != "" {
		s.offered[a.event.ID] = offered{a.event, len(w.Event)}
	}
	if a.request != nil {
		if w.Request, err = encodeRequest(a.request, s.kept(a.request.Contents)); err != nil {
			return 0, err
		}
	}
	if a.hook == plugin.AfterRun {
		clear(s.offered)
	}
	c.seq++
	c.waiting[c.seq] = answer
	if err = c.enqueue(&wire.HostMessage{Seq: c.seq, Message: &wire.HostMessage_Call{Call: w}}); err != nil {
		delete(c.waiting, c.seq)
		return 0, err
	}
	for {
		key, ok := c.known.forget(inv.Key)
		if !ok {
			return c.seq, nil
		}
		if err := c.enqueue(&wire.HostMessage{Message: &wire.HostMessage_Forget{Forget: &wire.Forget{Key: wireKey(key)}}}); err != nil {
			return 0, err
		}
	}
}

var wireHook = map[plugin.Hook]wire.Hook{plugin.BeforeRun: wire.Hook_BEFORE_RUN, plugin.BeforeModel: wire.Hook_BEFORE_MODEL,
	plugin.OnEvent: wire.Hook_ON_EVENT, plugin.AfterRun: wire.Hook_AFTER_RUN}
