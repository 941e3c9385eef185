package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// run is one invocation in progress. It belongs to one goroutine.
type run struct {
	*Runner
	id    string
	key   session.Key
	input *session.Event
	// inputID is the input's, so that input can be what is in the log once it is there
	inputID string
	cfg     session.RunConfig
	yield   func(*session.Event, error) bool
	left    bool // the caller has left, or is in its loop body: do not yield

	turn  *session.Turn
	view  *session.View
	stale bool // view may not be what the log is: read again before the next append
	now   *session.Invocation

	ended     bool // nothing more happens but AfterRun
	end       plugin.End
	unchecked map[string]map[plugin.Hook]plugin.Note // by plugin, what failed open and lasts
	lanes     []*lane                                // of observers, by plugin
}

func newRun(r *Runner, key session.Key, input *session.Event, cfg session.RunConfig, yield func(*session.Event, error) bool) *run {
	return &run{Runner: r, key: key, input: input, cfg: cfg, yield: yield,
		end: plugin.End{Kind: plugin.Left}, lanes: make([]*lane, len(r.Plugins))}
}

// execute runs the invocation and returns the error to yield last, nil if there is none or nobody to
// yield it to.
func (x *run) execute(ctx context.Context) (err error) {
	if err := x.prepare(); err != nil {
		return err
	}
	if err := x.take(ctx); err != nil {
		return err
	}
	defer x.turn.Release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(x.work.ctx, func() { cancel(session.ErrClosed) })()
	if x.turn.Lost != nil {
		watch := make(chan struct{})
		defer func() { cancel(nil); <-watch }()
		go func() {
			defer close(watch)
			select {
			case <-x.turn.Lost:
				cancel(&session.KeyError{Key: x.key, Err: session.ErrFenced})
			case <-ctx.Done():
			}
		}()
	}
	defer func() {
		if e := x.finish(ctx); !x.left {
			err = e
		}
	}()
	x.stages(ctx)
	return nil
}

// prepare checks the input and makes it the run's own.
func (x *run) prepare() error {
	if err := x.key.Check(false); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if x.input == nil {
		x.id = session.NewID()
		return nil
	}
	in := *x.input
	bad := func(what string) error { return fmt.Errorf("runner: input: %w: %s", session.ErrInvalid, what) }
	switch {
	case in.Author != "" && in.Author != session.User:
		return bad(fmt.Sprintf("its author is %q; only %q is possible", in.Author, session.User))
	case in.Marker():
		return bad("only plugins may emit a compaction or a rewind; send a command to the plugin that does")
	case in.Partial:
		return bad("it is partial")
	}
	in.Author, in.Seq = session.User, 0
	if in.ID == "" {
		in.ID = session.NewID()
	}
	if in.InvocationID == "" {
		in.InvocationID = session.NewID()
	}
	if in.Timestamp.IsZero() {
		in.Timestamp = time.Now().UTC()
	}
	x.id, x.input = in.InvocationID, &in
	return nil
}

// take waits for the session's turn, making the session if that is wanted.
func (x *run) take(ctx context.Context) (err error) {
	x.turn, err = x.Sessions.Turn(ctx, x.key)
	if !x.cfg.Create || !errors.Is(err, session.ErrNotFound) {
		return err
	}
	if _, err := x.Sessions.Create(ctx, x.key, nil); err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	x.turn, err = x.Sessions.Turn(ctx, x.key)
	return err
}

// stages takes the invocation through its stages until it has ended.
func (x *run) stages(ctx context.Context) {
	if err := x.load(ctx); err != nil {
		x.fail(ctx, err)
		return
	}
	if x.input != nil {
		input := x.input
		x.input, x.inputID = nil, input.ID // it is not in the log yet
		b, err := x.put(ctx, input, 0)
		if err != nil || x.ended {
			return
		}
		if len(b.events) == 0 || b.events[0].ID != input.ID {
			x.stop("", "the input was withheld")
			return
		}
	}
	if x.beforeRun(ctx); x.ended {
		return
	}
	x.agent(ctx)
}

// load reads the session as it is.
func (x *run) load(ctx context.Context) error {
	s, err := x.Sessions.Get(ctx, x.key)
	if err != nil {
		return err
	}
	var live []*session.Event
	for e, err := range x.Sessions.Read(ctx, x.key, session.Selection{Live: true}) {
		if err != nil {
			return err
		}
		live = append(live, e)
	}
	temp := map[string]any{}
	if x.view != nil {
		temp, _ = session.SplitTemp(x.view.State())
	}
	x.view = session.NewView(s, live)
	x.view.Set(temp)
	x.now, x.stale = nil, false
	return nil
}

// invocation returns the snapshot that hooks get.
func (x *run) invocation() *session.Invocation {
	if x.now == nil {
		x.now = &session.Invocation{ID: x.id, Key: x.key, Input: x.input, Config: x.cfg}
		if v := x.view; v != nil {
			x.now.Live, x.now.State, x.now.Position, x.now.Frontier = v.Live(), v.State(), v.Position(), v.Frontier()
		}
	}
	return x.now
}

// agent runs the agent.
func (x *run) agent(ctx context.Context) {
	defer func() {
		if x.left { // the caller's loop body panicked: not ours to recover
			return
		}
		if err := plugin.Recovered(recover()); err != nil {
			x.Log.Error("agent panicked", "agent", x.Agent.Name(), "invocation", x.id, "error", err, "stack", string(err.(*plugin.PanicError).Stack))
			x.fail(ctx, &AgentError{x.Agent.Name(), errors.New(strings.Replace(err.Error(), "the hook", "it", 1))})
		}
	}()
	host := &agent.Host{Now: x.invocation, BeforeModel: x.beforeModel}
	for e, err := range x.Agent.Run(ctx, host) {
		if x.ended {
			return
		}
		if err == nil {
			e, err = x.fromAgent(e)
		}
		if err != nil {
			x.fail(ctx, &AgentError{x.Agent.Name(), err})
			return
		}
		if _, err := x.put(ctx, e, 0); err != nil || x.ended {
			return
		}
	}
	if err := context.Cause(ctx); err != nil {
		x.fail(ctx, err)
	}
	if !x.ended {
		x.ended, x.end = true, plugin.End{Kind: plugin.Done}
	}
}

// fromAgent checks and stamps an agent's event.
func (x *run) fromAgent(e *session.Event) (*session.Event, error) {
	if e == nil {
		return nil, errors.New("it yielded neither an event nor an error")
	}
	c := *e
	c.Seq = 0
	if c.Author == "" {
		c.Author = x.Agent.Name()
	}
	if !x.Restore {
		switch {
		case c.Marker():
			return nil, errors.New("it yielded a compaction or a rewind; only plugins may")
		case c.Author == session.User, strings.HasPrefix(c.Author, session.PluginPrefix):
			return nil, fmt.Errorf("it yielded an event as %q; an agent cannot speak as the user or as a plugin", c.Author)
		}
		c.InvocationID = ""
	}
	if c.InvocationID == "" {
		c.InvocationID = x.id
	}
	if c.ID == "" {
		c.ID = session.NewID()
	}
	if c.Timestamp.IsZero() {
		c.Timestamp = time.Now().UTC()
	}
	return &c, nil
}

// fail ends the invocation with an error, unless it has ended.
func (x *run) fail(ctx context.Context, err error) {
	if x.ended {
		return
	}
	x.ended, x.end = true, plugin.End{Kind: plugin.Failed, Err: err}
	if cause := context.Cause(ctx); cause != nil {
		x.end.Kind = plugin.Cancelled
		if errors.Is(cause, session.ErrFenced) || errors.Is(cause, session.ErrClosed) {
			x.end.Kind = plugin.Failed
		}
		if !errors.Is(err, cause) {
			x.end.Err = fmt.Errorf("%w (%w)", cause, err)
		}
	}
}

// stop ends the invocation in good order.
func (x *run) stop(name, reason string) {
	if !x.ended {
		x.ended, x.end = true, plugin.End{Kind: plugin.Stopped, Plugin: name, Reason: reason}
	}
}
