package runs

import (
	"context"
	"time"

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
	// lease has run out. ended is the run before, if that is one of this process and its end was not told
	// yet, else nil. An error ends Next, which returns it.
	Running func(invocation string, ended *Run) error

	runs     *Runs
	sessions session.Service
	key      session.Key
	watch    *session.Watch
	started  chan struct{} // gets a value when a run of this process has begun on the session

	position int64 // of the last event that Next returned
	known    int64 // of the last event that the store has told of
	read     []*session.Event
	run      *RunFollower // of this process's run on the session, if there is one
	// early has the IDs of events that were read from the log before the run has yielded them. Their partial
	// events, which the run still has, are skipped: they would repeat the text.
	early map[string]bool

	ended  *Run      // the run that has ended, and Running was not told
	told   string    // the invocation that Running was last called with
	looked time.Time // when the store was last asked which invocation runs
	look   time.Time // when to ask it next; zero: not before an event comes, because none runs
}

// lookPause is how long a reader waits between two questions to the store about who runs.
const lookPause = time.Second

// chunk is how many events are read from the store at once.
const chunk = 64

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
		watch:    watch,
		started:  make(chan struct{}, 1),
		position: after,
		early:    map[string]bool{},
		told:     untold,
		look:     time.Now(),
	}
	s, err := sessions.Get(ctx, key)
	if err != nil {
		watch.Stop()
		return nil, err
	}
	f.known = s.Position
	r.follow(f)
	return f, nil
}

// Close ends the reading.
func (f *SessionFollower) Close() {
	f.watch.Stop()
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
			if err := f.fill(ctx); err != nil {
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
		if f.behind() {
			continue
		}

		// Then what a run of this process says, which may be ahead of what the store has told.
		if e := f.fromRun(); e != nil {
			return e, nil
		}
		if f.behind() {
			continue
		}

		var wake <-chan struct{}
		if f.run != nil {
			wake = f.run.wake
		}
		positions := f.watch.C
		if f.run != nil {
			positions = nil // the run tells of its events itself; when it has ended, the store is asked again
		}
		look, stop := f.timeToLook()
		select {
		case <-wake:
		case <-f.started:
			// It may be a run of another session that was made under the key: then the watch has ended.
			select {
			case position, ok := <-f.watch.C:
				if !ok {
					stop()
					return nil, f.gone(ctx)
				}
				f.known = max(f.known, position)
			default:
			}
			if f.run == nil {
				f.run = f.runs.current(f.key, f.position)
			}
		case position, ok := <-positions:
			if !ok {
				return nil, f.gone(ctx)
			}
			f.known = max(f.known, position)
		case <-look:
		case <-quiet.C:
			stop()
			return nil, nil
		case <-ctx.Done():
			stop()
			return nil, context.Cause(ctx)
		}
		stop()
	}
}

// untold is no invocation: Running was told nothing yet.
const untold = "\x00"

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
		if f.look.IsZero() || now.Before(f.look) {
			return nil
		}
		s, err := f.sessions.Get(ctx, f.key)
		if err != nil {
			return err
		}
		running = s.Holder
		f.known = max(f.known, s.Position)
		f.looked = now
		switch {
		case running != "":
			f.look = now.Add(lookPause)
		case f.behind(): // its events come first
			return nil
		default:
			f.look = time.Time{}
		}
	}
	if running == f.told && f.ended == nil {
		return nil
	}
	ended := f.ended
	f.ended = nil
	f.told = running
	return f.Running(running, ended)
}

// lookSoon has the store asked soon which invocation runs: an event has come, so it may be another one.
func (f *SessionFollower) lookSoon() {
	if f.Running != nil && f.look.IsZero() {
		f.look = f.looked.Add(lookPause)
	}
}

// timeToLook returns what gets a value when the store is to be asked who runs, and what ends the waiting.
func (f *SessionFollower) timeToLook() (<-chan time.Time, func()) {
	if f.Running == nil || f.run != nil || f.look.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(f.look))
	return t.C, func() { t.Stop() }
}

// behind reports whether the log is known to have more events.
func (f *SessionFollower) behind() bool { return f.known > f.position }

// fill reads events from the log.
func (f *SessionFollower) fill(ctx context.Context) error {
	f.read = f.read[:0]
	if f.run == nil {
		clear(f.early) // a run that begins now has told of what was read before
	}
	for e, err := range f.watch.Read(ctx, session.Selection{After: f.position}) {
		if err != nil {
			return err
		}
		f.read = append(f.read, e)
		if f.run == nil || f.run.run.Invocation == "" || f.run.run.Invocation == e.InvocationID {
			f.early[e.ID] = true
		}
		if len(f.read) == chunk {
			f.lookSoon()
			return nil
		}
	}
	f.lookSoon()
	if len(f.read) == 0 {
		return f.gone(ctx) // another session was made under the key
	}
	return nil
}

// fromRun returns the next event of this process's run on the session, or nil.
func (f *SessionFollower) fromRun() *session.Event {
	for f.run != nil {
		e, err := f.run.ready()
		switch {
		case err != nil: // the run has ended; somebody else may have appended meanwhile
			f.ended = f.run.run
			f.run.Close()
			clear(f.early)
			f.run = f.runs.current(f.key, f.position)
			f.look = time.Now()
			select {
			case position, ok := <-f.watch.C:
				if ok {
					f.known = max(f.known, position)
				} else {
					f.known = max(f.known, f.position+1) // fill says why
				}
			default:
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
