package runs

import (
	"context"
	"maps"
	"time"

	"github.com/plughook/plughook/plugin"
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
	since      time.Time     // when it was found first, or a run that went on with it has failed
	wait       time.Duration // for how long after that
	tried      bool          // it was gone on with, or there is nothing to go on with
	run        *Run          // goes on with it; nil when its end was logged
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
	for key, c := range known {
		switch {
		case c.run == nil:
		case c.run.HasEnded():
			r.wentOn(c)
		default:
			now[key] = c
		}
	}
	q := session.Query{App: app.Name, Since: time.Now().Add(-resumeWithin), CutOff: true, Order: session.Stored}
	for hit, err := range app.Sessions().Search(ctx, q) {
		if err != nil {
			return now, err
		}
		s := hit.Session
		if now[s.Key] != nil {
			continue // it is being gone on with
		}
		c := known[s.Key]
		if c == nil || c.invocation != s.CutOff || c.position != s.Position {
			c = &found{invocation: s.CutOff, position: s.Position, since: time.Now(), wait: after}
		}
		now[s.Key] = c
		if c.tried || time.Since(c.since) < c.wait {
			continue
		}
		c.tried = true
		if c.run, err = r.goOn(ctx, app.Runner, s); err != nil {
			c.tried = false // at the next look
			r.log.Warn("a run that was cut off is not gone on with yet", "session", s.Key, "invocation", s.CutOff,
				"error", err)
		}
	}
	return now, nil
}

// wentOn logs the end of a run that went on with one that was cut off. If it failed, it is tried again later,
// unless it has had the session: that is no longer cut off then.
func (r *Runs) wentOn(c *found) {
	run, end := c.run, c.run.End()
	c.run = nil
	if end.Err == nil {
		r.log.Info("a run that was cut off has gone on", "session", run.Key, "invocation", c.invocation, "end", end.Kind)
		return
	}
	r.log.Warn("a run that was cut off was gone on with, and failed", "session", run.Key, "invocation", c.invocation,
		"end", end.Kind, "error", end.Err)
	c.tried, c.since, c.wait = false, time.Now(), 2*c.wait
}

// goOn starts the run again that was cut off on a session, by its input, or as one without an input. It returns
// nil if there is nothing to start.
func (r *Runs) goOn(ctx context.Context, on *runner.Runner, s *session.Session) (*Run, error) {
	q := Request{Runner: on, Key: s.Key, User: s.User}
	begun := false
	for e, err := range on.Sessions().Read(ctx, s.Key, session.Selection{Live: true, Last: lookedBack}) {
		switch {
		case err != nil:
			return nil, err
		case e.InvocationID != s.CutOff:
			continue
		case e.Author == session.User && q.Input == nil && !begun:
			q.Input = asSent(e, on)
			q.changed = len(plugin.NotesOf(e).Changed) > 0
			for _, c := range e.Actions.RequestedToolConfirmations { // all are of one sender
				ctx = WithSender(ctx, func(string) session.Sender { return session.Sender{Name: c.Name, Roles: c.Roles} })
			}
		}
		begun = true
	}
	if !begun {
		return nil, nil // its input did not come into the log: only the client has it
	}
	run, follower, err := r.Start(ctx, q, s.Position)
	if err != nil {
		return nil, err
	}
	follower.Close()
	r.log.Info("a run that was cut off is started again", "session", s.Key, "invocation", s.CutOff)
	return run, nil
}

// asSent returns an input of the log without what only the runner and its plugins may write: the runner refuses
// that in an input.
func asSent(logged *session.Event, on *runner.Runner) *session.Event {
	e := logged.Clone()
	e.Seq = 0
	delete(e.CustomMetadata, session.NotesKey)
	owners := plugin.OwnersOf(on.Plugins()...)
	owned := func(key string) bool { _, is := owners.Of(key); return is }
	maps.DeleteFunc(e.Actions.StateDelta, func(key string, _ any) bool { return owned(key) })
	maps.DeleteFunc(e.Actions.StateIncrement, func(key string, _ float64) bool { return owned(key) })
	maps.DeleteFunc(e.Actions.StateBound, func(key string, _ float64) bool { return owned(key) })
	return e
}
