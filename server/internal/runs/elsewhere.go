package runs

import (
	"context"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// elsewherePause is how long a run waits for its session before it looks whether another process runs its input.
const elsewherePause = 100 * time.Millisecond

// showElsewhere adds to a run that waits for its session what another process appends for the run's input. It
// returns when ctx is done.
func (r *Runs) showElsewhere(ctx context.Context, run *Run) {
	pause := elsewherePause
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = time.Second
		r.mu.Lock()
		here := r.sessions[run.Key].begun != nil
		r.mu.Unlock()
		if here {
			continue // a run of this process has the session
		}
		if err := r.followElsewhere(ctx, run); err != nil && ctx.Err() == nil {
			r.log.Debug("a run of another process cannot be followed", "session", run.Key, "error", err)
		}
	}
}

// followElsewhere adds to a run the events of its input's invocation, those that are in the live view and those
// that come.
func (r *Runs) followElsewhere(ctx context.Context, run *Run) error {
	svc := run.request.Runner.Sessions()
	watch, err := svc.Watch(ctx, run.Key)
	if err != nil {
		return err
	}
	defer watch.Stop()
	invocation := "" // of the input, as soon as it is in the log
	position := int64(0)
	for sel := (session.Selection{Live: true, Last: lookedBack}); ; sel = (session.Selection{After: position}) {
		for e, err := range watch.Read(ctx, sel) {
			if err != nil {
				return err
			}
			if e.Marker() && sel.Live {
				continue // it comes first, whatever its position
			}
			position = e.Seq
			in := plugin.NotesOf(e).Input
			if e.ID == run.Input || in != nil && in.ID == run.Input {
				invocation = e.InvocationID
			}
			if invocation != "" && e.InvocationID == invocation {
				run.add(e, true)
			}
		}
		select {
		case _, ok := <-watch.C:
			if !ok {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
