package runs

import (
	"context"
	"time"

	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/session"
)

// A SessionFollower is a Follower of all that happens on a session, whichever process makes it: the events of
// the log behind a position, in order and without a gap, and, if the run is one of this process, partial
// events.
type SessionFollower struct {
	// Running, if it is set before the first call of Next, is told by Next which invocation runs on the
	// session, in whatever process, "" if none does: at the beginning, and when that changes. What the last
	// invocation has appended comes before it is told that none runs. A run of another process is seen with
	// its first event, and its end within a second; that of a process that died, within a second of when its
	// lease has run out. ended is a run of this process that has ended since Running was called last, nil if
	// none has. An error ends Next, which returns it.
	Running func(invocation string, ended *Run) error

	runs     *Runs
	sessions session.Service
	key      session.Key
	hold     *limits.Hold
	watch    *session.Watch
	started  chan struct{} // gets a value when a run of this process has begun on the session

	position int64 // of the last event that Next returned
	known    int64 // of the last event that the store has told of
	read     []*session.Event
	run      *RunFollower // of this process's run on the session, if there is one
	// early has the IDs of events that were read from the log before the run has yielded them. Their partial
	// events, which the run still has, are skipped: they would repeat the text.
	early map[string]bool

	told    string    // the invocation that Running was last called with
	untold  *Run      // a run of this process that has ended since then, nil if none has
	asked   time.Time // when the store was last asked which invocation runs
	askNext time.Time // when to ask it next; zero: not before an event comes, because none runs
}

// askPause is how long a reader waits between two questions to the store about who runs.
const askPause = time.Second

// chunk is how many events are read from the store at once; and chunkBytes how much they weigh, but for one: a slow
// reader holds no more.
const (
	chunk      = 64
	chunkBytes = 128 << 10
)

// FollowSession returns a reader of a session's events behind position after. It returns the store's error,
// such as session.ErrNotFound.
func (r *Runs) FollowSession(
	ctx context.Context, sessions session.Service, key session.Key, after int64) (*SessionFollower, error,
) {
	watch, err := sessions.Watch(ctx, key)
	if err != nil {
		return nil, err
	}
	f := &SessionFollower{
		runs:     r,
		sessions: sessions,
		key:      key,
		hold:     r.budget.Hold(key.User),
		watch:    watch,
		started:  make(chan struct{}, 1),
		position: after,
		early:    map[string]bool{},
		told:     nobodyYet,
		askNext:  time.Now(),
	}
	s, err := sessions.Get(ctx, key)
	if err != nil {
		watch.Stop()
		f.hold.Release()
		return nil, err
	}
	f.known = s.Position
	r.follow(f)
	return f, nil
}

// Close ends the reading.
func (f *SessionFollower) Close() {
	f.watch.Stop()
	f.hold.Release()
	f.runs.unfollow(f)
	if f.run != nil {
		f.run.Close()
	}
}

// Next returns the next event. It waits for it, but not longer than idle: then it returns nil without an
// error. It returns session.ErrNotFound when the session is deleted, session.ErrClosed when the store is
// closed, and the context's cause when that is done.
func (f *SessionFollower) Next(ctx context.Context, idle time.Duration) (*session.Event, error) {
	quiet := time.NewTimer(idle)
	defer quiet.Stop()
	for {
		// First what was read from the log already, and what the log has more than that.
		if len(f.read) == 0 && f.behind() {
			if err := f.readLog(ctx); err != nil {
				return nil, err
			}
		}
		if len(f.read) > 0 {
			e := f.read[0]
			f.read = f.read[1:]
			f.position = e.Seq
			return e, nil
		}
		if err := f.tell(ctx); err != nil {
			return nil, err
		}

		// Then what a run of this process says, which may be ahead of what the store has told.
		if !f.behind() {
			if e := f.fromRun(); e != nil {
				return e, nil
			}
		}
		if f.behind() {
			continue
		}

		// Nothing is there: wait. A run of this process tells of its events itself; when it has ended, the
		// store is asked again.
		var wake <-chan struct{}
		var ask <-chan time.Time
		positions := f.watch.C
		switch {
		case f.run != nil:
			wake = f.run.wake
			positions = nil
		case f.Running != nil && !f.askNext.IsZero():
			ask = time.After(time.Until(f.askNext))
		}
		select {
		case <-wake:
		case <-ask:
		case <-f.started:
			if !f.takePosition() { // it is a run of another session, which was made under the key
				return nil, f.gone(ctx)
			}
			if f.run == nil {
				f.run = f.runs.current(f.key, f.position)
			}
		case position, ok := <-positions:
			if !ok {
				return nil, f.gone(ctx)
			}
			f.known = max(f.known, position)
		case <-quiet.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// takePosition takes the position that the store has told of, if it has, without waiting. It returns false if
// the session is not there any more.
func (f *SessionFollower) takePosition() bool {
	select {
	case position, ok := <-f.watch.C:
		f.known = max(f.known, position)
		return ok
	default:
		return true
	}
}

// nobodyYet is no invocation: Running was told nothing yet.
const nobodyYet = "\x00"

// tell tells Running who runs on the session, if it is time to ask and the answer is another one.
func (f *SessionFollower) tell(ctx context.Context) error {
	if f.Running == nil {
		return nil
	}
	running := ""
	if f.run != nil {
		running = f.run.run.Invocation
	} else {
		now := time.Now()
		if f.askNext.IsZero() || now.Before(f.askNext) {
			return nil
		}
		s, err := f.sessions.Get(ctx, f.key)
		if err != nil {
			return err
		}
		running = s.Holder
		f.known = max(f.known, s.Position)
		f.asked = now
		switch {
		case running != "":
			f.askNext = now.Add(askPause)
		case f.behind(): // its events come first
			return nil
		default:
			f.askNext = time.Time{}
		}
	}
	if running == f.told && f.untold == nil {
		return nil
	}
	ended := f.untold
	f.untold = nil
	f.told = running
	return f.Running(running, ended)
}

// behind reports whether the log is known to have more events.
func (f *SessionFollower) behind() bool { return f.known > f.position }

// readLog reads the next events of the log, at most chunk of them.
func (f *SessionFollower) readLog(ctx context.Context) error {
	f.read = f.read[:0]

	// A run appends an event only when it has yielded the one before, and has no pieces of that any more. So a
	// run that is found later has none of what was read before these events.
	if f.run == nil {
		clear(f.early)
	}
	end, err := f.hold.Turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	size := int64(0)
	for e, err := range f.watch.Read(ctx, session.Selection{After: f.position}) {
		if err != nil {
			return err
		}
		f.read = append(f.read, e)
		if f.run == nil || f.run.run.Invocation == "" || f.run.run.Invocation == e.InvocationID {
			f.early[e.ID] = true
		}
		size += limits.Weight(e)
		if len(f.read) == chunk || size >= chunkBytes {
			break
		}
	}
	if len(f.read) == 0 {
		return f.gone(ctx) // another session was made under the key
	}

	// Another invocation may run than the one that Running was told of.
	if f.Running != nil && f.askNext.IsZero() {
		f.askNext = f.asked.Add(askPause)
	}
	return nil
}

// fromRun returns the next event of this process's run on the session, or nil.
func (f *SessionFollower) fromRun() *session.Event {
	for f.run != nil {
		e, err := f.run.ready()
		switch {
		case err != nil: // the run has ended; somebody else may have appended meanwhile
			f.untold = f.run.run
			f.run.Close()
			clear(f.early)
			f.run = f.runs.current(f.key, f.position)
			f.askNext = time.Now()
			if !f.takePosition() {
				f.known = max(f.known, f.position+1) // readLog returns why there are no more
			}
			if f.behind() {
				return nil
			}
		case e == nil:
			return nil
		case e.Partial && f.early[e.ID]:
			// The whole event was returned already.
		case e.Partial:
			return e
		case e.Seq == f.position+1:
			f.position = e.Seq
			f.known = max(f.known, e.Seq)
			return e
		case e.Seq > f.position: // somebody else's come first
			f.known = max(f.known, e.Seq)
			return nil
		default:
			delete(f.early, e.ID)
		}
	}
	return nil
}

// gone returns the error with which reading ends: the store's, or session.ErrNotFound if another session was
// made under the key.
func (f *SessionFollower) gone(ctx context.Context) error {
	if _, err := f.sessions.Get(ctx, f.key); err != nil {
		return err
	}
	return &session.KeyError{Key: f.key, Err: session.ErrNotFound}
}

// follow makes a reader known to the session's runs, and gives it the one that has begun.
func (r *Runs) follow(f *SessionFollower) {
	r.mu.Lock()
	if r.followers[f.key] == nil {
		r.followers[f.key] = map[*SessionFollower]struct{}{}
	}
	r.followers[f.key][f] = struct{}{}
	r.mu.Unlock()
	f.run = r.current(f.key, f.position)
}

// unfollow undoes follow.
func (r *Runs) unfollow(f *SessionFollower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.followers[f.key], f)
	if len(r.followers[f.key]) == 0 {
		delete(r.followers, f.key)
	}
}

// current returns a follower of the run that has begun on a session, nil if there is none.
func (r *Runs) current(key session.Key, after int64) *RunFollower {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.sessions[key]
	if on == nil || on.begun == nil {
		return nil
	}
	return on.begun.Follow(after)
}
