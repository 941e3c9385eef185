package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// A BusyError is ErrBusy, with the invocation that runs.
type BusyError struct{ Invocation string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%v with invocation %q", ErrBusy, e.Invocation)
}

// Unwrap returns ErrBusy.
func (e *BusyError) Unwrap() error { return ErrBusy }

// Busy says what becomes of a request to run on a session on which another run has begun or waits.
type Busy string

// What can become of it.
const (
	Wait      Busy = "wait"      // it waits for its turn; the default
	Reject    Busy = "reject"    // Start returns a *BusyError
	Interrupt Busy = "interrupt" // the other one is cancelled
	Rollback  Busy = "rollback"  // the other one is cancelled, and rewound
)

// makeRoom refuses a request on a busy session, or cancels the run that keeps it busy, as Request.Busy says.
// If the client has sent the input before, makeRoom does nothing and returns true: nothing new is started, so no
// run has to be cancelled.
func (r *Runs) makeRoom(ctx context.Context, q Request) (again bool, err error) {
	s, err := q.Runner.Sessions().Get(ctx, q.Key)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return false, nil // the runner refuses the run, or creates the session
	case err != nil:
		return false, err
	}

	// Which invocation runs, here or in another process?
	other := s.Holder
	local := r.Find(q.Key, "")
	if local != nil {
		other = local.Invocation
	}
	if other == "" {
		return false, nil
	}

	// Has the client sent the input again?
	if q.named {
		again, err := r.again(ctx, q)
		if again || err != nil {
			return again, err
		}
	}

	// Refuse the request, or cancel the other run.
	rewind := plugin.CommandFor(q.Runner.Plugins(), plugin.Rewind)
	switch {
	case q.Busy == Reject:
		return false, &BusyError{Invocation: other}
	case q.Busy == Rollback && rewind == nil:
		return false, fmt.Errorf("roll back invocation %q: %w", other, runner.ErrCommand)
	}
	if _, err := r.Cancel(ctx, q.Runner.Sessions(), q.Key, other); err != nil {
		return false, err
	}
	if q.Busy != Rollback {
		return false, nil
	}

	// Rewind what it has appended.
	back := session.Command{Name: rewind.Name, Args: map[string]any{"before": other}}.Event()
	for e, err := range q.Runner.Run(ctx, q.Key, back, session.RunConfig{}) {
		switch {
		case err != nil:
			return false, fmt.Errorf("roll back invocation %q: %w", other, err)
		case e.ErrorCode != "":
			// It has appended nothing, or it was rewound already.
			r.log.Debug("nothing was rolled back", "session", q.Key, "invocation", other, "error",
				e.ErrorMessage)
		}
	}
	return false, nil
}

// lookedBack is how many of the last live events are searched for a note about an input that a plugin has
// withheld.
const lookedBack = 1000

// again reports whether a request's input was sent before: it is that of a run of this process, or the log
// has it, or has an event that names it because a plugin has withheld it.
func (r *Runs) again(ctx context.Context, q Request) (bool, error) {
	r.mu.Lock()
	run := r.sessions[q.Key].withInput(q.Input.ID)
	r.mu.Unlock()
	if run != nil {
		return true, nil
	}

	// No event can follow position -1, so this appends nothing. Of an event that the log has already, the
	// store says so before it looks at the position.
	_, err := q.Runner.Sessions().Append(ctx, session.AppendTarget{Key: q.Key, After: -1}, q.Input.Clone())
	if err == nil || errors.Is(err, session.ErrIDReused) {
		return true, nil
	}
	for e, err := range q.Runner.Sessions().Read(ctx, q.Key, session.Selection{Live: true, Last: lookedBack}) {
		if err != nil {
			return false, err
		}
		if in := plugin.NotesOf(e).Input; in != nil && in.ID == q.Input.ID {
			return true, nil
		}
	}
	return false, nil
}
