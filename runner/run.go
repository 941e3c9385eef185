package runner

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	left    bool // the caller has left its loop: do not yield
	body    bool // the caller is in its loop body: what panics is not ours to recover

	turn  *session.Turn
	view  *session.View
	stale bool // view is not known to be what the log is: read it before the next append
	now   *session.Invocation

	ended     bool // nothing more happens but AfterRun
	end       plugin.End
	unchecked map[string]map[plugin.Hook]plugin.Note // by plugin, what failed open and lasts
	streams   map[string]string                      // by author and branch, the ID of the event in the making
}

func newRun(r *Runner, key session.Key, input *session.Event, cfg session.RunConfig, yield func(*session.Event, error) bool) *run {
	return &run{Runner: r, key: key, input: input, cfg: cfg, yield: yield, stale: true,
		end: plugin.End{Kind: plugin.EndLeft}}
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
		if e := x.finish(ctx); !x.left && !x.body {
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
	in := *x.input.Clone()
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
		in.InvocationID = in.ID
	}
	if in.Timestamp.IsZero() {
		in.Timestamp = time.Now().UTC()
	}
	x.input = &in
	if !x.opt.Restore {
		x.input = plugin.Notes{}.With(&in) // nobody notes what plugins did but the runner
	}
	x.id, x.inputID = in.InvocationID, in.ID
	return nil
}

// take waits for the session's turn, making the session if that is wanted.
func (x *run) take(ctx context.Context) (err error) {
	x.turn, err = x.opt.Sessions.Turn(ctx, x.key)
	if !x.cfg.Create || !errors.Is(err, session.ErrNotFound) {
		return err
	}
	if _, err := x.opt.Sessions.Create(ctx, x.key, nil); err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	x.turn, err = x.opt.Sessions.Turn(ctx, x.key)
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
		x.input = nil // it is not in the log yet
		if !x.repeated(input) {
			last := x.view.Position()
			b, err := x.put(ctx, input, 0)
			switch {
			case err != nil || x.ended:
			case b.withheld:
				x.stop("", "the input was withheld")
			case b.events[0].Seq <= last:
				x.fail(ctx, &session.EventError{Key: x.key, ID: input.ID, Err: fmt.Errorf("%w: the input is in the log already, and was rewound or compacted since; give it a new id", session.ErrIDReused)})
			}
		}
		if x.ended {
			return
		}
	}
	if x.beforeRun(ctx); x.ended {
		return
	}
	if x.input != nil && x.input.Content == nil {
		if c, ok := x.input.Command(); ok {
			x.fail(ctx, fmt.Errorf("runner: command %q: %w: no plugin has taken it; is the plugin configured?", c.Name, ErrCommand))
			return
		}
	}
	x.agent(ctx)
}

// repeated deals with an input that the live view has already: a caller that did not get the answer asks
// again. What the invocation has is yielded, and the run ends; if it has only the input, it goes on.
func (x *run) repeated(input *session.Event) bool {
	live := x.view.Live()
	at := slices.IndexFunc(live, func(e *session.Event) bool { return e.ID == input.ID })
	if at < 0 {
		return false
	}
	was := live[at]
	if len(plugin.NotesOf(was).Changed) == 0 && !reflect.DeepEqual(was.Content, input.Content) {
		x.fail(context.Background(), &session.EventError{Key: x.key, ID: input.ID, Err: session.ErrIDReused})
		return true
	}
	x.id, x.input, x.now = was.InvocationID, was, nil
	x.deliver(was)
	answered := false
	for _, e := range live[at+1:] {
		if e.InvocationID == was.InvocationID {
			answered = true
			x.deliver(e)
		}
	}
	if answered && !x.ended {
		x.ended, x.end = true, plugin.End{Kind: plugin.EndDone, Reason: "the input was answered before"}
	}
	return true
}

// load reads the session as it is.
func (x *run) load(ctx context.Context) error {
	s, err := x.opt.Sessions.Get(ctx, x.key)
	if err != nil {
		return err
	}
	var live []*session.Event
	for e, err := range x.opt.Sessions.Read(ctx, x.key, session.Selection{Live: true}) {
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
		if x.body {
			return
		}
		if err := plugin.Recovered(recover()); err != nil {
			x.opt.Log.Error("agent panicked", "agent", x.opt.Agent.Name(), "invocation", x.id, "error", err, "stack", string(err.(*plugin.PanicError).Stack))
			x.fail(ctx, &AgentError{x.opt.Agent.Name(), err})
		}
	}()
	host := &agent.Host{Now: x.invocation, BeforeModel: x.beforeModel}
	for e, err := range x.opt.Agent.Run(ctx, host) {
		if cause := context.Cause(ctx); cause != nil {
			x.fail(ctx, cause)
		}
		if x.ended {
			return
		}
		if err == nil {
			e, err = x.fromAgent(e)
		}
		if err == nil && e.Partial && x.cfg.Streaming == session.NoStreaming {
			continue
		}
		if err != nil {
			x.fail(ctx, &AgentError{x.opt.Agent.Name(), err})
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
		x.ended, x.end = true, plugin.End{Kind: plugin.EndDone}
	}
}

// fromAgent checks and stamps an agent's event.
func (x *run) fromAgent(e *session.Event) (*session.Event, error) {
	if e == nil {
		return nil, errors.New("it yielded neither an event nor an error")
	}
	c := *e.Clone() // the agent may use its own again
	c.Seq = 0
	if c.Author == "" {
		c.Author = x.opt.Agent.Name()
	}
	if !x.opt.Restore {
		switch {
		case c.Marker():
			return nil, errors.New("it yielded a compaction or a rewind; only plugins may")
		case c.Author == session.User, strings.HasPrefix(c.Author, session.PluginPrefix):
			return nil, fmt.Errorf("it yielded an event as %q; an agent cannot speak as the user or as a plugin", c.Author)
		}
		c.InvocationID = ""
		if c.CustomMetadata[plugin.MetadataKey] != nil {
			c = *plugin.Notes{}.With(&c)
		}
	}
	if c.InvocationID == "" {
		c.InvocationID = x.id
	}
	if c.ID == "" {
		c.ID = x.streamID(&c)
	}
	if c.Timestamp.IsZero() {
		c.Timestamp = time.Now().UTC()
	}
	return &c, nil
}

// streamID returns an ID for an event without one: the partial events that lead to an event have its ID.
func (x *run) streamID(e *session.Event) string {
	stream := e.Author + "\x00" + e.Branch
	id := x.streams[stream]
	if id == "" {
		id = session.NewID()
	}
	if !e.Partial {
		delete(x.streams, stream)
		return id
	}
	if x.streams == nil {
		x.streams = map[string]string{}
	}
	x.streams[stream] = id
	return id
}

// fail ends the invocation with an error, unless it has ended.
func (x *run) fail(ctx context.Context, err error) {
	if x.ended {
		return
	}
	x.ended, x.end = true, plugin.End{Kind: plugin.EndFailed, Err: err}
	if cause := context.Cause(ctx); cause != nil {
		x.end.Kind = plugin.EndCancelled
		if errors.Is(cause, session.ErrFenced) || errors.Is(cause, session.ErrClosed) {
			x.end.Kind = plugin.EndFailed
		}
		if !errors.Is(err, cause) {
			x.end.Err = fmt.Errorf("%w (%w)", cause, err)
		}
	}
}

// stop ends the invocation in good order.
func (x *run) stop(name, reason string) {
	if !x.ended {
		x.ended, x.end = true, plugin.End{Kind: plugin.EndStopped, Plugin: name, Reason: reason}
	}
}
