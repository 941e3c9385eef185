package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// pluginStream carries messages from the host and back. One goroutine receives.
type pluginStream interface {
	Send(*wire.PluginMessage) error
	Recv() (*wire.HostMessage, error)
}

// server calls a plugin's hooks for a host.
type server struct {
	plugin *plugin.Plugin
	strict bool // check that hooks change nothing in place, as the runner does
	stream pluginStream
	send   sync.Mutex
	copies copies

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
	calls   sync.WaitGroup

	next  chan struct{} // wakes one that waits to receive
	idle  atomic.Int32  // how many do
	ended chan error    // has an element when nothing is received any more
	done  chan struct{} // closed then
}

// maxIdle is how many goroutines wait to receive, at most.
const maxIdle = 64

// serve answers a host's calls until the host drains the plugin or the stream ends. It returns when every
// hook has.
func serve(ctx context.Context, s pluginStream, p *plugin.Plugin, strict bool) error {
	x := &server{plugin: p, strict: strict, stream: s, copies: copies{}, cancels: map[uint64]context.CancelFunc{},
		next: make(chan struct{}), ended: make(chan error, 1), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	defer x.calls.Wait()
	defer cancel()
	defer close(x.done)
	go x.receive(ctx)
	return <-x.ended
}

// receive takes messages until a call comes. That it answers itself, at once, while another goroutine takes the
// messages after it: so a hook does not wait until another goroutine runs.
func (x *server) receive(ctx context.Context) {
	for {
		m, err := x.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			x.ended <- nil
			return
		case err != nil:
			x.ended <- err
			return
		}
		switch m.Message.(type) {
		case *wire.HostMessage_Call:
			if answer := x.call(ctx, m.Seq, m.GetCall()); answer != nil {
				select {
				case x.next <- struct{}{}: // who waits for it has a stack that has grown
				default:
					go x.receive(ctx)
				}
				answer()
				if !x.again() {
					return
				}
			}
		case *wire.HostMessage_Cancel:
			x.mu.Lock()
			if cancel := x.cancels[m.Seq]; cancel != nil {
				cancel()
			}
			x.mu.Unlock()
		case *wire.HostMessage_Ping:
			x.reply(&wire.PluginMessage{Message: &wire.PluginMessage_Pong{Pong: &wire.Pong{}}})
		case *wire.HostMessage_Forget:
			delete(x.copies, keyOf(m.GetForget().Key))
		case *wire.HostMessage_Drain:
			x.calls.Wait()
			x.ended <- nil
			return
		}
	}
}

// again waits until it is time to receive, and reports false if there is no need.
func (x *server) again() bool {
	defer x.idle.Add(-1)
	if x.idle.Add(1) > maxIdle {
		return false
	}
	select {
	case <-x.next:
		return true
	case <-x.done:
		return false
	}
}

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
			a.end.Err = decodeError(w.End.Error, strings.NewReplacer())
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

func failure(seq uint64, err error) *wire.PluginMessage {
	return &wire.PluginMessage{Seq: seq, Message: &wire.PluginMessage_Failure{Failure: &wire.Failure{Error: encodeError(err)}}}
}

func encodeOutcome(out plugin.Outcome) (w *wire.Outcome, err error) {
	w = &wire.Outcome{Withhold: out.Withhold, Stop: out.Stop, Reason: out.Reason, Unchecked: out.Unchecked}
	if out.Replace != nil {
		if w.Replace, err = out.Replace.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	for _, e := range out.Emit {
		if e == nil {
			return nil, errors.New("it emits a nil event")
		}
		data, err := e.MarshalJSON()
		if err != nil {
			return nil, err
		}
		w.Emit = append(w.Emit, data)
	}
	return w, nil
}

// shallow returns a request of which the hook may change all but what parts point to.
func shallow(r *model.Request) *model.Request {
	mine := *r
	mine.Contents = make([]*genai.Content, len(r.Contents))
	for i, c := range r.Contents {
		if c == nil {
			continue
		}
		copied := &genai.Content{Role: c.Role, Parts: make([]*genai.Part, len(c.Parts))}
		for j, p := range c.Parts {
			if p != nil {
				part := *p
				copied.Parts[j] = &part
			}
		}
		mine.Contents[i] = copied
	}
	if r.Config != nil {
		mine.Config = (&model.Request{Config: r.Config}).Clone().Config
	}
	return &mine
}

// changed returns what a hook has changed of a request, nil if that is nothing.
func changed(was, is *model.Request) (*wire.ModelRequest, error) {
	keep := 0
	for keep < len(was.Contents) && keep < len(is.Contents) && reflect.DeepEqual(was.Contents[keep], is.Contents[keep]) {
		keep++
	}
	config := !reflect.DeepEqual(was.Config, is.Config)
	if keep == len(was.Contents) && keep == len(is.Contents) && !config && was.Model == is.Model && was.Stream == is.Stream {
		return nil, nil
	}
	w, err := encodeRequest(is, keep)
	if err == nil && !config {
		w.Config = nil
	}
	return w, err
}

// reply sends a message; if it cannot be sent, the host is gone, and Recv says so.
func (x *server) reply(m *wire.PluginMessage) {
	x.send.Lock()
	defer x.send.Unlock()
	_ = x.stream.Send(m)
}
