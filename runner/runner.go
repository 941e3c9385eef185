package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner/internal/lent"
	"github.com/plughook/plughook/session"
)

// Options say what a Runner runs. Agent and Sessions are needed.
type Options struct {
	Agent    agent.Agent
	Sessions session.Service
	// Plugins steer the runs, in this order (see package plugin). The Runner closes them.
	Plugins []*plugin.Plugin
	// Log takes a record of each hook call at debug level, and warnings about what does not reach the caller:
	// failures of observers, in the background, and of a run whose caller has left its loop. At the first run
	// that is to be streamed, it takes a warning for each plugin that does not let partial events through. A
	// run that has waited half a second because another run has the session says so at info level. nil logs
	// nothing. No record has content.
	Log *slog.Logger
	// Trace is told of each hook call once it has returned. It must be safe for concurrent use; a panic
	// in it is logged and changes nothing. It may be nil.
	Trace func(HookCall)
	// Restore says that the agent plays a record, such as agent/replay: it may author its events as
	// plugins and as the user, emit compactions and rewinds, and name other invocations.
	Restore bool
	// AfterRunTimeout bounds the context of each AfterRun hook and of what it emits, 30 s if it is 0;
	// BackgroundTimeout that of each one in the background, and of each call of an observer, 60 s if it
	// is 0.
	AfterRunTimeout, BackgroundTimeout time.Duration
	// KeptViews is how many bytes of memory the Runner may use to keep the live views of sessions between
	// runs: the next run on a session then reads only what is new. Those used longest ago are dropped first,
	// and each after ten minutes without a run. 0 is 128 MiB; a negative number keeps none.
	KeptViews int64
	// Now is the clock from which events have their times, and which plugins ask (session.Invocation.Now);
	// nil is time.Now. It must be safe for concurrent use. Time limits and leases have the machine's clock.
	Now func() time.Time
}

// An AgentError is the failure of the agent: the error that it yielded, its panic, or an event that it
// may not yield.
type AgentError struct {
	Agent string
	Err   error
}

func (e *AgentError) Error() string { return fmt.Sprintf("runner: agent %q: %v", e.Agent, e.Err) }

// Unwrap returns Err.
func (e *AgentError) Unwrap() error { return e.Err }

// ErrCommand is a command that no plugin has taken.
var ErrCommand = errors.New("unknown command")

// ErrNotWaiting says that the input answers calls with what they do not wait for. It responds to a call that
// waits for a yes or no, or is not open: it was answered before, asked anew under another id, or rewound, or never
// was. Or it approves or declines calls that are not awaiting confirmation: they were
// decided before, or were rewound, or never were.
var ErrNotWaiting = errors.New("no such call waits for this answer")

// ErrOwnSession says that an Outside was given a session in which the Runner's own agent has run: what the agent has said
// and called there is not the other program's to add to or to answer.
var ErrOwnSession = errors.New("the runner's own agent has run in this session; an agent in another program needs a session of its own")

// ErrNotYours says that the input decides about a call that waits for the yes or no of somebody else: the sender (see
// session.RunConfig) has none of the roles, or has said yes before and another person's yes is needed.
var ErrNotYours = errors.New("this is not yours to decide: the sender has not the role, or has said yes before")

// A Runner runs an agent on sessions. It may be used by many goroutines.
type Runner struct {
	opt           Options
	partials      bool // partial events may be yielded: rule 8
	owners        plugin.StateOwners
	sharedReaders bool // a plugin reads shared state
	tasks         tasks
	views         *lent.Views
	observers     observerQueues
	closing       atomic.Bool   // somebody closes the plugins
	closed        chan struct{} // closed when they are

	unstreamed sync.Once // of the warning that partial events may not be yielded
}

// defaultKeptViews is how many bytes of views a Runner keeps.
const defaultKeptViews = 128 << 20

// New returns a Runner, or an error for each thing that is wrong with the options.
func New(o Options) (*Runner, error) {
	var errs []error
	if o.Agent == nil {
		errs = append(errs, errors.New("runner: Options.Agent is nil"))
	} else if err := agent.Check(o.Agent); err != nil {
		errs = append(errs, fmt.Errorf("runner: %w", err))
	}
	if o.Sessions == nil {
		errs = append(errs, errors.New("runner: Options.Sessions is nil; memory.New() of package session/memory keeps them in memory"))
	}
	if err := plugin.Validate(o.Plugins...); err != nil {
		errs = append(errs, fmt.Errorf("runner: %w", err))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	o.AfterRunTimeout = cmp.Or(o.AfterRunTimeout, 30*time.Second)
	o.BackgroundTimeout = cmp.Or(o.BackgroundTimeout, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Plugins = slices.Clone(o.Plugins)
	r := &Runner{opt: o, partials: true, closed: make(chan struct{}), owners: plugin.OwnersOf(o.Plugins...)}
	if o.Restore {
		delete(r.owners, plugin.RunnerState)
	}
	for _, p := range o.Plugins {
		r.sharedReaders = r.sharedReaders || p.SharedState
		r.partials = r.partials && (p.OnEvent == nil || p.Partials || p.Observer)
	}
	r.tasks.init()
	r.views = lent.NewViews(cmp.Or(o.KeptViews, defaultKeptViews), &r.tasks.Counter)
	return r, nil
}

// Agent returns the agent that the Runner runs.
func (r *Runner) Agent() agent.Agent { return r.opt.Agent }

// Sessions returns the store of the sessions that the Runner runs the agent on.
func (r *Runner) Sessions() session.Service { return r.opt.Sessions }

// Plugins returns the plugins that steer the runs, in their order.
func (r *Runner) Plugins() []*plugin.Plugin { return slices.Clone(r.opt.Plugins) }

// Run runs the agent once on a session and yields every event of the invocation, the input included,
// as it is in the log. It waits for the session's lease first.
//
// The input is a content, a command (session.Command), or both. Its ID, invocation ID and time are kept
// if it has them; its state delta is applied. It may be nil: the agent goes on with what is in the log.
// The caller's event is not changed. The events yielded are shared: treat them as read only.
//
// An input with an ID may be run again, by a caller who did not see how it ended: if the live view has it, or
// an event in its place because a plugin has withheld it, what there is of its invocation is yielded. If an
// agent, or a plugin in its place, has said something in it that did not break off, and no call or response
// is left without an answer, or if a plugin has stopped there, no agent runs. If somebody has cancelled the
// run (session.Service.Cancel, or a context whose cause is session.ErrCancelled), its event with
// session.Cancelled is yielded, and session.ErrCancelled; a nil input goes on with it. Else the invocation
// goes on. Another input with the ID is session.ErrIDReused. A command without content that no plugin
// withholds or stops at is ErrCommand; an input that responds to a call that is not open, or does nothing but
// approve or decline calls, none of which waits for that, is ErrNotWaiting, and is not in the log.
//
// If the run fails, the last pair yielded is a nil event and the error; it is a *plugin.Error if a
// plugin failed, an *AgentError if the agent did, wraps a session error if the store did, and is the
// context's cause if that is done.
// Breaking out of the loop ends the invocation.
//
// If the context is done, the caller leaves, the runner is closed or the agent fails while an answer is
// streamed, the text that the caller was shown goes into the log as an event of the agent with Interrupted,
// like any other event: plugins may change or withhold it. The next run's model has it as its own turn, so
// that a user can say "go on". Thoughts, and what was not shown, are not kept.
//
// Nothing happens until the loop begins. Do not run a session within a hook or the loop body of a run on the
// same session: the inner run waits for the lease that the outer one holds, until its context is done.
func (r *Runner) Run(ctx context.Context, key session.Key, input *session.Event, cfg session.RunConfig) iter.Seq2[*session.Event, error] {
	return r.RunWithFinal(ctx, key, input, cfg, nil)
}

// RunWithFinal is Run. At the end, after AfterRun and while the session is still the run's alone, it calls
// then with the session as the run leaves it, and the run's error: so nobody has to read it again to know, say, which
// calls wait. What then is given is shared: treat it as read only. then is not called if the run did not get as far as
// the session, or if the log is not known after an append that failed. It may be nil.
func (r *Runner) RunWithFinal(ctx context.Context, key session.Key, input *session.Event, cfg session.RunConfig, then func(*session.Invocation, error)) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		x := newRun(r, key, input, cfg, yield)
		x.then = then
		if err := x.task(ctx); err != nil {
			yield(nil, err)
		}
	}
}

// task executes the run as one of the tasks that Close waits for.
func (x *run) task(ctx context.Context) error {
	task := "run of " + x.key.String()
	if !x.tasks.Begin(task) {
		return fmt.Errorf("runner: %w", session.ErrClosed)
	}
	defer x.tasks.End(task)
	if x.cfg.Streaming != session.NoStreaming && (x.outside == nil || x.outside.stream) {
		x.warnUnstreamed()
	}
	return x.execute(ctx)
}

// Close waits for runs, observers and background work, then closes the plugins, the last first. New
// runs end at once with session.ErrClosed. When ctx is done, what still runs has its context cancelled
// and one more second; the error names what never came back. The session service stays open. A second
// Close waits for the same, as long as its own context lets it, and closes no plugin again.
func (r *Runner) Close(ctx context.Context) error {
	err := r.tasks.close(ctx)
	r.views.Close()
	if r.closing.Swap(true) {
		select {
		case <-r.closed:
		case <-ctx.Done():
			err = errors.Join(err, fmt.Errorf("runner: close: %w: another Close has not closed the plugins yet", context.Cause(ctx)))
		}
		return err
	}
	defer close(r.closed)
	for i := len(r.opt.Plugins) - 1; i >= 0; i-- {
		if p := r.opt.Plugins[i]; p.Close != nil {
			err = errors.Join(err, r.closePlugin(ctx, p))
		}
	}
	return err
}

func (r *Runner) closePlugin(ctx context.Context, p *plugin.Plugin) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if err := plugin.Recovered(recover()); err != nil {
				panicked.Log(r.opt.Log, "plugin panicked", err, "plugin", p.Name, "hook", "close")
				done <- err
			}
		}()
		done <- p.Close(ctx)
	}()
	select {
	case err := <-done:
		if err != nil {
			err = fmt.Errorf("plugin %s: close: %w", p.Name, err)
		}
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(time.Second):
		return fmt.Errorf("plugin %s: close: %w", p.Name, context.Cause(ctx))
	}
}
