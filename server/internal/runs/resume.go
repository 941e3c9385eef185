package runs

import (
	"context"
	"time"

	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/session"
)

// resumeWithin is how old the last event of a session may be whose run is gone on with. So a run that ends its
// server again and again does not do so for ever.
const resumeWithin = time.Hour

// A found is a run that was cut off, as Resume has found it.
type found struct {
	invocation string
	position   int64
	since      time.Time // when it was found first
	tried      bool      // it was gone on with, or there is nothing to go on with
}

// Resume goes on with runs that were cut off (session.Session.CutOff), when nobody has done so for a time. Each
// server of a store may look: the lease lets one of them go on, and the others are told what became of it. Resume
// looks until ctx is done, and Close waits for that.
func (r *Runs) Resume(ctx context.Context, served []*apps.App, after time.Duration) {
	r.active.Go(func() {
		known := map[string]map[session.Key]*found{}
		tick := time.NewTicker(max(after/4, 100*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			for _, app := range served {
				now, err := r.resumeIn(ctx, app, after, known[app.Name])
				if err != nil && ctx.Err() == nil {
					r.log.Warn("runs that were cut off were not looked for", "app", app.Name, "error", err)
				}
				known[app.Name] = now
			}
		}
	})
}

// resumeIn looks once at an app's sessions. It returns those whose run was cut off, known are those of the last
// look.
func (r *Runs) resumeIn(
	ctx context.Context, app *apps.App, after time.Duration, known map[session.Key]*found,
) (map[session.Key]*found, error) {
	now := map[session.Key]*found{}
	q := session.Query{App: app.Name, Since: time.Now().Add(-resumeWithin), CutOff: true, Order: session.Stored}
	for hit, err := range app.Sessions().Search(ctx, q) {
		if err != nil {
			return now, err
		}
		s := hit.Session
		c := known[s.Key]
		if c == nil || c.invocation != s.CutOff || c.position != s.Position {
			c = &found{invocation: s.CutOff, position: s.Position, since: time.Now()}
		}
		now[s.Key] = c
		if c.tried || time.Since(c.since) < after {
			continue
		}
		c.tried = true
		if err := r.goOn(ctx, app.Runner, s); err != nil {
			c.tried = false // at the next look
			r.log.Warn("a run that was cut off is not gone on with yet", "session", s.Key, "invocation", s.CutOff, "error", err)
		}
	}
	return now, nil
}

// goOn starts the run again that was cut off on a session, by its input, or as one without an input.
func (r *Runs) goOn(ctx context.Context, on *runner.Runner, s *session.Session) error {
	q := Request{Runner: on, Key: s.Key, User: s.User}
	begun := false
	for e, err := range on.Sessions().Read(ctx, s.Key, session.Selection{Live: true, Last: lookedBack}) {
		switch {
		case err != nil:
			return err
		case e.InvocationID != s.CutOff:
			continue
		case e.Author == session.User && q.Input == nil && !begun:
			q.Input = e.Clone()
			q.Input.Seq = 0
			delete(q.Input.CustomMetadata, session.NotesKey) // the runner notes anew
		}
		begun = true
	}
	if !begun {
		return nil // its input did not come into the log: only the client has it
	}
	_, follower, err := r.Start(ctx, q, s.Position)
	if err != nil {
		return err
	}
	follower.Close()
	r.log.Info("a run that was cut off is gone on with", "session", s.Key, "invocation", s.CutOff)
	return nil
}
