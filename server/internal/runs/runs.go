package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/session"
)

// ErrBusy is what Start returns for a busy session, besides the errors of packages session and limits.
var ErrBusy = errors.New("the session is busy")

// A Request says what to run.
type Request struct {
	Runner *runner.Runner
	Key    session.Key
	// Input is the runner's: it may be nil. Two inputs with one ID are one run.
	Input  *session.Event
	Config session.RunConfig
	Busy   Busy
	// LeaveCancels says that the run is cancelled when nobody follows it any more.
	LeaveCancels bool
	// User is who starts it, for the limits.
	User string

	named   bool // the client has given the input its ID
	changed bool // the input is that of the log, and a plugin has changed it there
}

// Runs are the runs of a process. A session's key tells it from all others: the apps of a server have
// different names.
type Runs struct {
	budget *limits.Process
	log    *slog.Logger
	outbox *outbox // nil if nobody is told of the runs

	life   context.Context
	end    context.CancelCauseFunc
	active sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	sessions  map[session.Key]*sessionRuns
	followers map[session.Key]map[*SessionFollower]struct{}
	cancels   map[invocationKey]struct{} // that CancelLater waits for
}

// invocationKey names an invocation on a session.
type invocationKey struct {
	session    session.Key
	invocation string
}

// sessionRuns are the runs on one session that have not ended.
type sessionRuns struct {
	live  *limits.Hold // the live view, which one of them has in memory
	all   []*Run       // in the order in which they were started
	begun *Run         // the last one that has begun, nil if all wait
}

// first returns the run that has begun, or else the first that waits.
func (on *sessionRuns) first() *Run {
	if on.begun != nil {
		return on.begun
	}
	return on.all[0]
}

// withInput returns the run with that input, nil if there is none. on may be nil.
func (on *sessionRuns) withInput(id string) *Run {
	if on == nil {
		return nil
	}
	for _, run := range on.all {
		if run.Input == id {
			return run
		}
	}
	return nil
}

// New returns Runs without any.
func New(budget *limits.Process, log *slog.Logger) *Runs {
	life, end := context.WithCancelCause(context.Background())
	return &Runs{
		budget:    budget,
		log:       log,
		life:      life,
		end:       end,
		sessions:  map[session.Key]*sessionRuns{},
		followers: map[session.Key]map[*SessionFollower]struct{}{},
		cancels:   map[invocationKey]struct{}{},
	}
}

// Start starts a run, or finds the one with the same input, and returns a Follower of it: its events
// behind position after. The context is only that of starting. It returns a *limits.Exceeded, a *BusyError,
// session.ErrIDReused for an input with the ID of another one, or session.ErrClosed.
func (r *Runs) Start(ctx context.Context, q Request, after int64) (*Run, *RunFollower, error) {
	// Check the input, and give it an ID if it has none.
	if err := checkInput(ctx, q); err != nil {
		return nil, nil, err
	}
	q.Config.Sender = SenderOf(ctx, q.Key)
	q.named = q.Input != nil && q.Input.ID != ""
	if q.Input != nil && !q.named {
		q.Input = q.Input.Clone()
		q.Input.ID = session.NewID()
	}

	// End the run that keeps the session busy, if the request asks for that.
	if q.Busy == Interrupt || q.Busy == Rollback || q.Busy == Reject {
		again, err := r.makeRoom(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		if again {
			q.Busy = Wait
		}
	}

	// Is there room for what it stores? An input that is known already stores nothing.
	size, err := r.room(ctx, q)
	if err != nil {
		return nil, nil, err
	}

	// A run with the same input is joined.
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, session.ErrClosed
	}
	on := r.sessions[q.Key]
	if q.Input != nil {
		run := on.withInput(q.Input.ID)
		if run != nil && !run.same(q.Input) {
			return nil, nil, &session.EventError{Key: q.Key, ID: q.Input.ID, Err: session.ErrIDReused}
		}
		if run != nil {
			return run, run.Follow(after), nil
		}
	}

	// Is there room for another one?
	if q.Busy == Reject && on != nil { // it has come since makeRoom looked
		return nil, nil, &BusyError{Invocation: on.first().Invocation}
	}
	hold, err := r.budget.Run(q.User)
	if err != nil {
		return nil, nil, err
	}
	if err := hold.TakeJSON(weight(q.Input)); err != nil {
		hold.Release()
		return nil, nil, err
	}

	// Start it.
	if on == nil {
		on = &sessionRuns{live: r.budget.Hold(q.User)}
		if err := on.live.TakeJSON(size.Live); err != nil {
			on.live.Release()
			hold.Release()
			return nil, nil, err
		}
		r.sessions[q.Key] = on
	}
	life, cancel := context.WithCancelCause(telemetry.Of(r.life, ctx))
	run := &Run{
		Key:       q.Key,
		hold:      hold,
		budget:    r.budget,
		cancel:    cancel,
		begun:     make(chan struct{}),
		done:      make(chan struct{}),
		followers: map[*RunFollower]struct{}{},
		leaves:    q.LeaveCancels,
		request:   q,
	}
	if q.Input != nil {
		run.Input = q.Input.ID
		run.Invocation = cmp.Or(q.Input.InvocationID, q.Input.ID)
	}
	on.all = append(on.all, run)
	follower := run.Follow(after)
	r.active.Go(func() { r.run(life, run) })
	return run, follower, nil
}

// room checks that there is room for what a request stores: its input in the session, and its state. It returns the
// session's size.
func (r *Runs) room(ctx context.Context, q Request) (size session.Size, err error) {
	n := int64(0)
	if q.Input != nil {
		r.mu.Lock()
		known := r.sessions[q.Key].withInput(q.Input.ID) != nil
		r.mu.Unlock()
		if known {
			return size, nil
		}
		n = weight(q.Input)
	}
	if q.Input != nil && len(q.Input.Actions.StateDelta) > 0 {
		state := map[string]any{}
		now, err := q.Runner.Sessions().Get(ctx, q.Key)
		if err == nil {
			state = now.State
		} else if !errors.Is(err, session.ErrNotFound) {
			return size, err
		}
		if err := r.budget.StateFits(state, q.Input.Actions.StateDelta); err != nil {
			return size, err
		}
	}
	return r.budget.Room(ctx, q.Runner.Sessions(), q.Key, n)
}

// weight returns the weight of an input, 0 for none.
func weight(input *session.Event) int64 {
	if input == nil {
		return 0
	}
	return limits.Weight(input)
}

// run runs a run to its end.
func (r *Runs) run(ctx context.Context, run *Run) {
	defer run.cancel(nil)
	q := run.request
	var clock *time.Timer
	startClock := func() {
		if limit := r.budget.Limits.Run; limit > 0 {
			clock = time.AfterFunc(limit, func() { run.cancel(ErrTooLong) })
		}
	}
	if q.Input == nil {
		startClock()
	}
	// While it waits, another process may run its input.
	stopShowing := func() {}
	if q.named {
		showing, stop := context.WithCancel(ctx)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			r.showElsewhere(showing, run)
		}()
		stopShowing = func() {
			stop()
			<-stopped
		}
	}
	began := false
	begin := func() {
		if began {
			return
		}
		began = true
		stopShowing()
		r.begin(run)
		if q.Input != nil {
			startClock()
		}
	}

	// Collect what it yields.
	left := func(inv *session.Invocation, err error) {
		run.left(inv)
		r.settle(ctx, run, run.endBy(ctx, err))
	}
	last := r.owe(ctx, run)
	if last == nil {
		for e, err := range q.Runner.RunWithFinal(ctx, q.Key, q.Input, q.Config, left) {
			begin()
			if err != nil {
				last = err
				break
			}
			run.add(e, false)
		}
	}
	begin()
	if clock != nil {
		clock.Stop()
	}
	run.finish(ctx, last)
	r.settle(ctx, run, run.End()) // if the session was not known, or the store not reached

	// Take it out of the runs of its session.
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.sessions[run.Key]
	on.all = slices.DeleteFunc(on.all, func(other *Run) bool { return other == run })
	if len(on.all) == 0 {
		delete(r.sessions, run.Key)
		on.live.Release()
	} else if on.begun == run {
		on.begun = nil
	}
}

// has reports whether a run has its session: it has begun and has not ended.
func (r *Runs) has(run *Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.sessions[run.Key]
	return on != nil && on.begun == run
}

// begin notes that a run waits no more, and wakes those who follow its session.
func (r *Runs) begin(run *Run) {
	run.hold.Begun()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[run.Key].begun = run
	for f := range r.followers[run.Key] {
		select {
		case f.started <- struct{}{}:
		default:
		}
	}
}

// Find returns the run of an invocation on a session, in this process, or nil. An empty invocation is the
// one that has begun, or else the first that waits.
func (r *Runs) Find(key session.Key, invocation string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.sessions[key]
	if on == nil {
		return nil
	}
	if invocation == "" {
		return on.first()
	}
	for _, run := range on.all {
		if run.Invocation == invocation {
			return run
		}
	}
	return nil
}

// Close lets the runs end until ctx is done, and cancels then those that are left. New runs are refused. A
// run that does not obey within session.CancelGrace is left behind.
func (r *Runs) Close(ctx context.Context) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.active.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		r.end(fmt.Errorf("the server was shut down: %w", session.ErrClosed)) // another server goes on with it
		grace := time.NewTimer(session.CancelGrace)
		defer grace.Stop()
		select {
		case <-ended:
		case <-grace.C:
			r.log.Warn("runs do not end although they were cancelled, and are left "+
				"behind", "sessions", r.busy())
		}
	}
	r.end(session.ErrClosed)
}

// busy returns how many sessions have runs.
func (r *Runs) busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sessions)
}
