package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
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
	// inLoopBody says that the caller is in its loop body: what panics there is not ours to recover
	inLoopBody bool

	lease *session.Lease
	view  *store.View
	born  time.Time // when the session was made: another one may get its key
	began int64     // where the log was
	stale bool      // view is not known to be what the log is: read it before the next append
	now   *session.Invocation

	ended     bool // nothing more happens but AfterRun
	end       plugin.End
	unchecked map[plugin.Note]bool // hooks that failed open, and what follows from that lasts
	streams   map[string]string    // by author and branch, the ID of the event in the making
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
	defer x.lease.Release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(x.tasks.ctx, func() { cancel(session.ErrClosed) })()
	if x.lease.Lost != nil {
		watch := make(chan struct{})
		defer func() { cancel(nil); <-watch }()
		go func() {
			defer close(watch)
			select {
			case <-x.lease.Lost:
				cancel(&session.KeyError{Key: x.key, Err: fmt.Errorf("the turn was lost: %w by now, or the session or its store is gone or was not reached in time", session.ErrFenced)})
			case <-ctx.Done():
			}
		}()
	}
	defer func() {
		if e := x.finish(ctx); !x.left && !x.inLoopBody {
			err = e
		}
	}()
	x.stages(ctx)
	return nil
}

// take waits for the session's turn, making the session if that is wanted.
func (x *run) take(ctx context.Context) (err error) {
	x.lease, err = x.opt.Sessions.Lease(ctx, x.key)
	if !x.cfg.Create || !errors.Is(err, session.ErrNotFound) {
		return err
	}
	if _, err := x.opt.Sessions.Create(ctx, x.key, nil); err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	x.lease, err = x.opt.Sessions.Lease(ctx, x.key)
	return err
}

// stages takes the invocation through its stages until it has ended.
func (x *run) stages(ctx context.Context) {
	if err := x.load(ctx); err != nil {
		x.fail(ctx, err)
		return
	}
	x.began = x.view.Position()
	if x.input != nil {
		input := x.input
		x.input = nil // it is not in the log yet
		if !x.repeated(input) {
			if err := x.undecided(input); err != nil {
				x.fail(ctx, err)
				return
			}
			last := x.view.Position()
			b, err := x.put(ctx, newPending(input), 0)
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
	if x.interrupted(ctx); x.ended {
		return
	}
	x.agent(ctx)
}

// load reads the session as it is.
func (x *run) load(ctx context.Context) error {
	s, err := x.opt.Sessions.Get(ctx, x.key)
	if err != nil {
		return err
	}
	if x.born.IsZero() {
		x.born = s.Created
	}
	if !s.Created.Equal(x.born) {
		return &session.KeyError{Key: x.key, Err: fmt.Errorf("%w: it was deleted, and another one made under its key", session.ErrNotFound)}
	}
	if err := x.checkInitial(s); err != nil && !x.opt.Restore {
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
		temp, _ = store.SplitTemp(x.view.State())
	}
	x.view = store.NewView(s, live)
	x.view.Set(temp)
	x.now, x.stale = nil, false
	return nil
}

// readShared reads the state that other sessions change, too, as it is now.
func (x *run) readShared(ctx context.Context) error {
	s, err := x.opt.Sessions.Get(ctx, x.key)
	if err != nil {
		return err
	}
	if x.view != nil {
		if x.view.SetShared(s.State) {
			x.now = nil
		}
		return nil
	}
	// In the background there is no view, but a snapshot of its end.
	now := *x.now
	now.State = maps.Clone(now.State)
	maps.DeleteFunc(now.State, func(key string, _ any) bool { return shared(key) })
	for key, value := range s.State {
		if shared(key) {
			now.State[key] = value
		}
	}
	x.now = &now
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
