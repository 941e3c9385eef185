package remote

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/caller"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// call calls a hook and waits for what it answers.
func (c *conn) call(ctx context.Context, inv *session.Invocation, a message.Args) (plugin.Outcome, error) {
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
func (c *conn) take(ctx context.Context, m *wire.PluginMessage, a message.Args) (plugin.Outcome, error) {
	out, request, err := caller.DecodeAnswer(m, a, c.secret)
	if err != nil {
		return plugin.Outcome{}, err
	}
	if ctx.Err() != nil {
		return plugin.Outcome{}, context.Cause(ctx)
	}
	if request != nil {
		*a.Request = *request
	}
	return out, nil
}

// send encodes a call and hands it to the writer.
func (c *conn) send(ctx context.Context, inv *session.Invocation, a message.Args, answer chan *wire.PluginMessage) (seq uint64, err error) {
	// Encode what does not depend on earlier calls. It is most of the work, so the lock is not held.
	call, err := caller.NewCall(a)
	if err != nil {
		return 0, err
	}
	call.Traceparent = message.Traceparent(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		call.Remaining = durationpb.New(time.Until(deadline))
	}

	// Add what the plugin has not got yet. If the message is not sent, nobody knows what the plugin has.
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if err != nil {
			c.sent.Drop(inv.Key)
		}
	}()
	if err := c.sent.Complete(call, inv, a); err != nil {
		return 0, err
	}

	// Send it.
	c.seq++
	c.waiting[c.seq] = answer
	err = c.enqueue(&wire.HostMessage{Seq: c.seq, Message: &wire.HostMessage_Call{Call: call}})
	if err != nil {
		delete(c.waiting, c.seq)
		return 0, err
	}

	// Have the plugin forget sessions that were not used for long, if it has too much.
	for {
		key, ok := c.sent.Forget(inv.Key)
		if !ok {
			return c.seq, nil
		}
		forget := &wire.Forget{Key: message.WireKey(key)}
		err = c.enqueue(&wire.HostMessage{Message: &wire.HostMessage_Forget{Forget: forget}})
		if err != nil {
			return 0, err
		}
	}
}
