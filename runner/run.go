package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner/internal/lent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// run is one invocation in progress. It belongs to one goroutine.
type run struct {
	*Runner
	id    string // of the invocation
	key   session.Key
	cfg   session.RunConfig
	yield func(*session.Event, error) bool
	then  func(*session.Invocation, error) // told at the end what the session is; it may be nil

	// input is the caller's input: at first the run's copy of it, nil until it is in the log, and then
	// what is in the log. inputID is its ID from the beginning.
	input   *session.Event
	inputID string
	// given is the input as its caller gave it, nil if it had no ID: then nobody can send it again. unlogged
	// is that input, too, from when a plugin has withheld it until an event in the log has a note of it.
	given, unlogged *session.Event
	repeated        bool // the log had the input before the run, and the run has only told what became of it

	// left says that the caller has left its loop: nothing more is yielded. inLoopBody says that the
	// caller's loop body is running: a panic in there is not the run's to recover.
	left       bool
	inLoopBody bool
	ended      bool // nothing more happens but AfterRun

	lease    *session.Lease
	number   int64 // the session's: another one may get its key
	startSeq int64 // the log's last position when the run began

	// view follows the log. stale says that it may have missed something, so that it is read again before
	// the next append. snapshot is that of the view that hooks get; it lends nothing until somebody needs it.
	view     *store.View
	stale    bool
	snapshot lent.Invocation
	loan     lent.Loan // of the view and its state

	end plugin.End // how the run ended, if it has

	outside *offering // what an agent outside offers, nil if the run is of the runner's own agent

	unchecked map[plugin.Note]bool // hooks that failed open, so that what follows is marked
	streams   map[string]string    // the ID of the event that partial events lead to, by author and branch
	shown     []*shownText         // what the caller was shown of events that are not whole yet
}

func newRun(r *Runner, key session.Key, input *session.Event, cfg session.RunConfig, yield func(*session.Event, error) bool) *run {
	return &run{
		Runner: r,
		key:    key,
		input:  input,
		cfg:    cfg,
		yield:  yield,
		stale:  true,
		// The end if the caller's loop body panics. Every other way to end sets another one.
		end: plugin.End{Kind: plugin.EndLeft},
	}
}

// execute runs the invocation. It returns the error to yield last: nil if there is none, and nil if the
// caller is not there to take it.
func (x *run) execute(ctx context.Context) (err error) {
	// A bad input costs nothing: nobody waits for the lease with it.
	if err := x.prepare(); err != nil {
		return err
	}

	of := telemetry.Run{App: x.key.App, Session: x.key.ID, Invocation: x.id}
	ctx, span := of.Begin(ctx)
	defer func() { span.Ended(string(x.end.Kind), telemetry.Failure(err)) }()

	// From here on the session is this run's alone.
	if err := x.takeLease(ctx); err != nil {
		x.end.Kind = plugin.EndFailed
		return err
	}
	defer x.lease.Release()
	defer func() { x.views.RunEnded(x.key, x.loan.Folds) }()

	// The run is cancelled with its caller's context, by Close, by whoever cancels the session's holder, and
	// when the lease is lost.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(x.tasks.ctx, func() { cancel(session.ErrClosed) })()
	if x.lease.Lost != nil || x.lease.Cancelled != nil {
		watched := make(chan struct{})
		defer func() {
			cancel(nil)
			<-watched
		}()
		go func() {
			defer close(watched)
			x.watchLease(ctx, cancel)
		}()
	}

	// AfterRun is called however the stages end, by a panic of the caller's loop body, too.
	defer func() {
		failed := x.finish(ctx)
		if !x.left && !x.inLoopBody {
			err = failed
		}
	}()
	x.stages(ctx)
	return nil
}

// takeLease waits until the session is this run's alone. It makes the session if that is wanted.
func (x *run) takeLease(ctx context.Context) (err error) {
	x.lease, err = x.waitForLease(ctx, x.id)
	if !x.cfg.Create || !errors.Is(err, session.ErrNotFound) {
		return err
	}
	_, err = x.opt.Sessions.Create(ctx, x.key, nil)
	if err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	x.lease, err = x.waitForLease(ctx, x.id)
	return err
}

// leaseNotice is how long a run waits for its session without a word.
const leaseNotice = 500 * time.Millisecond

// waitForLease waits for the session's lease, and says in the log what it waits for if that takes a while.
func (x *run) waitForLease(ctx context.Context, holder string) (*session.Lease, error) {
	defer telemetry.Waited(ctx, time.Now())
	said := make(chan struct{})
	notice := time.AfterFunc(leaseNotice, func() {
		defer close(said)
		s, err := x.opt.Sessions.Get(ctx, x.key)
		if err != nil || s.Holder == "" || s.Holder == holder { // the store is slow, and no run is in the way
			return
		}
		x.opt.Log.Info("waiting until another run on the session, perhaps in another process, has ended",
			"session", x.key, "holder", s.Holder)
	})
	defer func() {
		if !notice.Stop() {
			<-said
		}
	}()
	return x.opt.Sessions.Lease(ctx, x.key, holder)
}

// watchLease cancels the run when its lease is lost, or its holder asked to end.
func (x *run) watchLease(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-x.lease.Cancelled:
		cancel(cancelled(x.key))
	case <-x.lease.Lost:
		cancel(&session.KeyError{Key: x.key, Err: fmt.Errorf("the lease was lost: %w by now, or the session or its store is gone or was not reached in time", session.ErrFenced)})
	case <-ctx.Done():
	}
}

// cancelled is the error of a run that somebody has cancelled.
func cancelled(key session.Key) error {
	return &session.KeyError{Key: key, Err: fmt.Errorf("the run %w", session.ErrCancelled)}
}

// stages takes the invocation through its stages until it has ended.
func (x *run) stages(ctx context.Context) {
	// What is there?
	if err := x.load(ctx); err != nil {
		x.fail(ctx, err)
		return
	}
	x.startSeq = x.view.Position()
	if x.outside != nil {
		x.offeredStages(ctx)
		return
	}

	// The input goes into the log, unless a plugin withholds it.
	if x.input != nil {
		x.takeInput(ctx)
	}
	if x.ended {
		return
	}

	// Plugins may stop the run before an agent runs.
	x.begin(ctx)
	if x.ended || x.cfg.NoAgent {
		return
	}

	// Calls that an earlier run left open are answered. Then the agent runs.
	x.answerInterrupted(ctx)
	if x.ended {
		return
	}
	x.agent(ctx)
}

// takeInput puts the input into the log. If it is there already, what became of it is yielded.
func (x *run) takeInput(ctx context.Context) {
	input := x.input
	x.input = nil // it is not in the log yet
	if x.yieldIfRepeated(input) {
		return
	}
	if err := x.checkAnswers(input); err != nil {
		x.fail(ctx, err)
		return
	}
	if x.putNew(ctx, input).withheld && !x.ended {
		x.stop("", "the input was withheld")
	}
}

// putNew puts an event that the live view does not have. If the log has it all the same, the run fails.
func (x *run) putNew(ctx context.Context, e *session.Event) batch {
	last := x.view.Position()
	b, err := x.put(ctx, newPending(e), 0)
	if err == nil && !b.withheld && !e.Partial && b.events[0].Seq <= last && !x.ended {
		x.fail(ctx, &session.EventError{Key: x.key, ID: e.ID, Err: fmt.Errorf("%w: the event is in the log already, and was rewound or compacted since; give it a new id", session.ErrIDReused)})
	}
	return b
}

// begin calls BeforeRun. A plugin has to take a command.
func (x *run) begin(ctx context.Context) {
	x.beforeRun(ctx)
	if x.ended || x.input == nil || x.input.Content != nil {
		return
	}
	if c, ok := x.input.Command(); ok {
		x.fail(ctx, fmt.Errorf("runner: command %q: %w: no plugin took it; is the plugin configured?", c.Name, ErrCommand))
	}
}

// checkSnapshot returns an error if somebody has assigned to the fields of the snapshot, and gives them back
// what they had.
func (x *run) checkSnapshot() error {
	if !x.snapshot.Restore() {
		return nil
	}
	return fmt.Errorf("runner: the invocation: %w. A hook, a tool or an agent that was given it has assigned to its fields",
		plugin.ErrInPlace)
}

// invocation returns the snapshot that hooks get.
func (x *run) invocation() *session.Invocation {
	if inv := x.snapshot.Lent(); inv != nil {
		return inv
	}
	inv := &session.Invocation{
		ID:      x.id,
		Key:     x.key,
		Number:  x.number,
		Input:   x.input,
		Config:  x.cfg,
		Offered: x.Runner.offered,
		Clock:   x.opt.Now,
	}
	if x.view != nil {
		inv.Live = x.view.Live()
		inv.State = x.view.State()
		x.loan.LendState(inv.State)
		inv.Position = x.view.Position()
		inv.Frontier = x.view.Frontier()
		inv.Folded = x.loan.Folds.Of()
	}
	x.snapshot.Lend(inv)
	return inv
}

// fail ends the invocation with an error, unless it has ended.
func (x *run) fail(ctx context.Context, err error) {
	if x.ended {
		return
	}
	x.ended = true
	x.end = plugin.End{Kind: plugin.EndFailed, Err: err}
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
		x.ended = true
		x.end = plugin.End{Kind: plugin.EndStopped, Plugin: name, Reason: reason}
	}
}
