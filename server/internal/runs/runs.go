package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Limits bound what runs may take of a process. 0 is no bound.
type Limits struct {
	Waiting int // runs that have not begun yet, in the process
	User    int // runs of one user, waiting or running
	// Length is how long one run may take from its beginning. The beginning of a run without an input cannot be
	// seen before its agent says something, so its time begins when it is started.
	Length time.Duration
}

// What Start returns, beside the errors of package session.
var (
	ErrFull = errors.New("too many runs wait already")
	ErrBusy = errors.New("the session is busy")
)

// A BusyError is ErrBusy, with the invocation that runs.
type BusyError struct{ Invocation string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%v with invocation %q", ErrBusy, e.Invocation)
}

// Unwrap returns ErrBusy.
func (e *BusyError) Unwrap() error { return ErrBusy }

// Busy says what becomes of a run on a session that is busy with another one.
type Busy string

// What can become of it.
const (
	Wait      Busy = "wait"      // it waits for its turn; the default
	Reject    Busy = "reject"    // Start returns a *BusyError
	Interrupt Busy = "interrupt" // the other one is cancelled
	Rollback  Busy = "rollback"  // the other one is cancelled, and rewound
)

// A Request says what to run.
type Request struct {
	Runner   *runner.Runner
	Sessions session.Service // the runner's
	Key      session.Key
	// Input is the runner's: it may be nil. Two inputs with one ID are one run.
	Input  *session.Event
	Config session.RunConfig
	Busy   Busy
	// LeaveCancels says that the run is cancelled when nobody follows it any more.
	LeaveCancels bool
	// User is who starts it, for the limits.
	User string
}

// Runs are the runs of a process.
type Runs struct {
	limits Limits
	log    *slog.Logger

	life   context.Context
	end    context.CancelCauseFunc
	active sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	sessions  map[place]*sessionRuns
	followers map[place]map[*SessionFollower]struct{}
	waiting   int
	users     map[string]int
	cancels   map[target]struct{} // that CancelLater waits for
}

// target is an invocation on a session.
type target struct {
	place
	invocation string
}

// place is a session in a store.
type place struct {
	sessions session.Service
	key      session.Key
}

// sessionRuns are the runs on one session.
type sessionRuns struct {
	all   []*Run // waiting, in the order of arrival, and running
	begun *Run   // the last that has begun
}

// first returns the run that has begun, or else the first that waits.
func (on *sessionRuns) first() *Run {
	if on.begun != nil {
		return on.begun
	}
	return on.all[0]
}

// New returns Runs without any.
func New(limits Limits, log *slog.Logger) *Runs {
	life, end := context.WithCancelCause(context.Background())
	return &Runs{
		limits:    limits,
		log:       log,
		life:      life,
		end:       end,
		sessions:  map[place]*sessionRuns{},
		followers: map[place]map[*SessionFollower]struct{}{},
		users:     map[string]int{},
		cancels:   map[target]struct{}{},
	}
}

// Start starts a run, or finds the one with the same input, and returns a Follower of it: its events
// behind position after. The context is only that of starting. It returns ErrFull, a *BusyError,
// session.ErrIDReused for an input with the ID of another one, or session.ErrClosed.
func (r *Runs) Start(ctx context.Context, q Request, after int64) (*Run, *Follower, error) {
	if err := checkInput(ctx, q.Input); err != nil {
		return nil, nil, err
	}
	named := q.Input != nil && q.Input.ID != ""
	if q.Input != nil && !named {
		q.Input = q.Input.Clone()
		q.Input.ID = session.NewID()
	}
	if q.Busy == Interrupt || q.Busy == Rollback || q.Busy == Reject {
		again, err := r.makeRoom(ctx, q, named)
		if err != nil {
			return nil, nil, err
		}
		if again {
			q.Busy = Wait
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, session.ErrClosed
	}
	at := place{sessions: q.Sessions, key: q.Key}
	on := r.sessions[at]
	if on != nil && q.Input != nil {
		for _, run := range on.all {
			if run.Input == q.Input.ID {
				if !run.same(q.Input) {
					return nil, nil, &session.EventError{Key: q.Key, ID: q.Input.ID, Err: session.ErrIDReused}
				}
				return run, run.Follow(after), nil
			}
		}
	}
	switch {
	case q.Busy == Reject && on != nil: // it has come since makeRoom looked
		return nil, nil, &BusyError{Invocation: on.first().Invocation}
	case r.limits.Waiting > 0 && r.waiting >= r.limits.Waiting:
		return nil, nil, fmt.Errorf("%w: %d in this server", ErrFull, r.waiting)
	case r.limits.User > 0 && r.users[q.User] >= r.limits.User:
		return nil, nil, fmt.Errorf("%w: %d of this user", ErrFull, r.users[q.User])
	}
	if on == nil {
		on = &sessionRuns{}
		r.sessions[at] = on
	}
	life, cancel := context.WithCancelCause(r.life)
	run := &Run{
		Key:       q.Key,
		user:      q.User,
		cancel:    cancel,
		begun:     make(chan struct{}),
		done:      make(chan struct{}),
		followers: map[*Follower]struct{}{},
		leaves:    q.LeaveCancels,
		request:   q,
	}
	if q.Input != nil {
		run.Input = q.Input.ID
		run.Invocation = q.Input.InvocationID
		if run.Invocation == "" {
			run.Invocation = run.Input
		}
	}
	on.all = append(on.all, run)
	r.waiting++
	r.users[q.User]++
	follower := run.Follow(after)
	r.active.Go(func() { r.run(life, at, run) })
	return run, follower, nil
}

// makeRoom does what a request wants done when its session is busy. It does nothing, and reports true, for an
// input that was sent before: nothing new is started, so nobody has to make room. named says that the client
// has given the input its ID.
func (r *Runs) makeRoom(ctx context.Context, q Request, named bool) (again bool, err error) {
	s, err := q.Sessions.Get(ctx, q.Key)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return false, nil // the runner says so, or makes it
	case err != nil:
		return false, err
	}
	other := s.Holder
	if local := r.Find(q.Sessions, q.Key, ""); local != nil {
		other = local.Invocation
	}
	if other == "" {
		return false, nil
	}
	if named {
		again, err := r.again(ctx, q)
		if again || err != nil {
			return again, err
		}
	}
	if q.Busy == Reject {
		return false, &BusyError{Invocation: other}
	}
	if _, err := r.Cancel(ctx, q.Sessions, q.Key, other); err != nil {
		return false, err
	}
	if q.Busy != Rollback {
		return false, nil
	}
	back := rewind.Before(other).Event()
	for e, err := range q.Runner.Run(ctx, q.Key, back, session.RunConfig{}) {
		switch {
		case err != nil:
			return false, fmt.Errorf("roll back invocation %q: %w", other, err)
		case e.ErrorCode != "":
			// It has not got as far as the log, or it was rewound already.
			r.log.Debug("nothing was rolled back", "session", q.Key, "invocation", other, "error", e.ErrorMessage)
		}
	}
	return false, nil
}

// has reports whether a request's input is that of a run of this process.
func (r *Runs) has(q Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.sessions[place{sessions: q.Sessions, key: q.Key}]
	return on != nil && slices.ContainsFunc(on.all, func(run *Run) bool { return run.Input == q.Input.ID })
}

// lookedBack is how many events at the end of a live view are looked through for one that names an input.
const lookedBack = 1000

// again reports whether a request's input was sent before: it is that of a run of this process, or the log has it,
// or has an event that names it because a plugin has withheld it.
func (r *Runs) again(ctx context.Context, q Request) (bool, error) {
	if r.has(q) {
		return true, nil
	}

	// No event can follow position -1, so this appends nothing. Of an event that the log has already, the store
	// says so before it looks at the position.
	_, err := q.Sessions.Append(ctx, session.At{Key: q.Key, After: -1}, q.Input.Clone())
	if err == nil || errors.Is(err, session.ErrIDReused) {
		return true, nil
	}
	for e, err := range q.Sessions.Read(ctx, q.Key, session.Selection{Live: true, Last: lookedBack}) {
		if err != nil {
			return false, err
		}
		if in := plugin.NotesOf(e).Input; in != nil && in.ID == q.Input.ID {
			return true, nil
		}
	}
	return false, nil
}

// run runs a run to its end.
func (r *Runs) run(ctx context.Context, at place, run *Run) {
	defer run.cancel(nil)
	q := run.request
	began := false
	begin := func() {
		began = true
		r.begin(at, run)
	}
	stopClock := func() {}
	startClock := func() {
		if r.limits.Length > 0 {
			clock := time.AfterFunc(r.limits.Length, func() { run.cancel(ErrTooLong) })
			stopClock = func() { clock.Stop() }
		}
	}
	if q.Input == nil {
		startClock()
	}
	var last error
	for e, err := range q.Runner.RunThen(ctx, q.Key, q.Input, q.Config, run.left) {
		if !began {
			begin()
			if q.Input != nil {
				startClock()
			}
		}
		if err != nil {
			last = err
			break
		}
		run.add(e)
	}
	stopClock()
	if !began {
		begin()
	}
	run.finish(ctx, last)

	// It is no run of the session any more.
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.sessions[at]
	for i, other := range on.all {
		if other == run {
			on.all = append(on.all[:i:i], on.all[i+1:]...)
			break
		}
	}
	if len(on.all) == 0 {
		delete(r.sessions, at)
	} else if on.begun == run {
		on.begun = nil
	}
	if r.users[run.user]--; r.users[run.user] == 0 {
		delete(r.users, run.user)
	}
}

// begin says that a run waits no more, to those who follow its session, too.
func (r *Runs) begin(at place, run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
	r.sessions[at].begun = run
	for f := range r.followers[at] {
		select {
		case f.started <- struct{}{}:
		default:
		}
	}
}

// Find returns the run of an invocation on a session, in this process, or nil. An empty invocation is the
// one that has begun, or else the first that waits.
func (r *Runs) Find(sessions session.Service, key session.Key, invocation string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.sessions[place{sessions: sessions, key: key}]
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

// Cancel cancels an invocation on a session, in whatever process it runs, and waits until it has ended. It
// returns the run if that is one of this process. It is no error if the invocation does not run.
func (r *Runs) Cancel(ctx context.Context, sessions session.Service, key session.Key, invocation string) (*Run, error) {
	run := r.Find(sessions, key, invocation)
	if run == nil {
		return nil, sessions.Cancel(ctx, key, invocation)
	}
	run.Cancel(nil)
	grace := time.NewTimer(session.CancelGrace)
	defer grace.Stop()
	select {
	case <-run.Done():
		return run, nil
	case <-ctx.Done():
		return run, context.Cause(ctx)
	case <-grace.C:
		// It does not obey: it may append no more.
		return run, sessions.Cancel(ctx, key, invocation)
	}
}

// CancelAll cancels the runs of this process on the sessions that are chosen, those that wait for their turn, too.
// It waits until they have ended, but not longer than session.CancelGrace.
func (r *Runs) CancelAll(ctx context.Context, sessions session.Service, chosen func(session.Key) bool) {
	var all []*Run
	r.mu.Lock()
	for at, on := range r.sessions {
		if at.sessions == sessions && chosen(at.key) {
			all = append(all, on.all...)
		}
	}
	r.mu.Unlock()
	for _, run := range all {
		run.Cancel(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, session.CancelGrace)
	defer cancel()
	for _, run := range all {
		select {
		case <-run.Done():
		case <-ctx.Done():
			return
		}
	}
}

// Close lets the runs end until ctx is done, and cancels then those that are left. New runs are refused. A run
// that does not obey within session.CancelGrace is left behind.
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
			r.log.Warn("runs do not end although they were cancelled, and are left behind", "sessions", r.busy())
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

// follow makes a reader known to the session's runs, and gives it the one that has begun.
func (r *Runs) follow(f *SessionFollower) {
	at := place{sessions: f.sessions, key: f.key}
	r.mu.Lock()
	if r.followers[at] == nil {
		r.followers[at] = map[*SessionFollower]struct{}{}
	}
	r.followers[at][f] = struct{}{}
	r.mu.Unlock()
	f.run = r.current(f.sessions, f.key, f.position)
}

func (r *Runs) unfollow(f *SessionFollower) {
	at := place{sessions: f.sessions, key: f.key}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.followers[at], f)
	if len(r.followers[at]) == 0 {
		delete(r.followers, at)
	}
}

// current returns a follower of the run that has begun on a session, nil if there is none.
func (r *Runs) current(sessions session.Service, key session.Key, after int64) *Follower {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.sessions[place{sessions: sessions, key: key}]
	if on == nil || on.begun == nil {
		return nil
	}
	return on.begun.Follow(after)
}

// CancelLater is Cancel for a caller who does not wait for the end. However often it is called, one goroutine waits for
// each invocation, and Close for these.
func (r *Runs) CancelLater(sessions session.Service, key session.Key, invocation string) {
	if run := r.Find(sessions, key, invocation); run != nil {
		run.Cancel(nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := target{place: place{sessions: sessions, key: key}, invocation: invocation}
	_, waits := r.cancels[at]
	if r.closed || waits {
		return
	}
	r.cancels[at] = struct{}{}
	r.active.Go(func() {
		if _, err := r.Cancel(r.life, sessions, key, invocation); err != nil {
			r.log.Warn("an invocation was not cancelled", "session", key, "invocation", invocation, "error", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.cancels, at)
	})
}
