package sessions

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Ended is how an invocation ended that did not run any more when it was cancelled: the log has what it said.
const Ended runs.Kind = "ended"

// Cancel ends an invocation, in whatever process it runs. Of one that has ended, and has left a workflow
// waiting, it ends the workflow's run. If wait is false it does not wait for the end, and what it returns
// says nothing. Else it returns how the invocation ended, and the run if that is one of this process.
func (s Service) Cancel(
	ctx context.Context, app *apps.App, key session.Key, invocation string, wait bool,
) (runs.Kind, *runs.Run, error) {
	stored, err := app.Sessions().Get(ctx, key)
	if err != nil {
		return "", nil, err
	}

	// It runs, here or elsewhere.
	if stored.Holder == invocation || s.Runs.Find(key, invocation) != nil {
		if !wait {
			s.Runs.CancelLater(app.Sessions(), key, invocation)
			return runs.Cancelled, nil, nil
		}
		run, err := s.Runs.Cancel(ctx, app.Sessions(), key, invocation)
		return runs.Cancelled, run, err
	}

	// It has left workflows waiting.
	waiting, err := s.waitingWorkflows(ctx, app, key, invocation)
	if err != nil {
		return "", nil, err
	}
	if len(waiting) > 0 {
		return runs.Cancelled, nil, s.abandon(ctx, app, key, waiting, wait)
	}

	// It has ended, or never was.
	for e, err := range app.Sessions().Read(ctx, key, session.Selection{}) {
		if err != nil {
			return "", nil, err
		}
		if e.InvocationID == invocation {
			return Ended, nil, nil
		}
	}
	return "", nil, web.NewProblem(http.StatusNotFound, "not_found", "no such invocation runs, and "+
		"the session has none of it")
}

// waitingWorkflows returns the paths of the workflows' runs that an invocation has begun or gone on with, and
// that wait for an answer from outside.
func (s Service) waitingWorkflows(
	ctx context.Context, app *apps.App, key session.Key, invocation string,
) (paths []string, err error) {
	live, err := s.Live(ctx, app, key)
	if err != nil {
		return nil, err
	}
	asking := map[*session.Event]bool{}
	for _, c := range session.Calls(live) {
		asking[c.Event] = asking[c.Event] || c.Waits()
	}
	for _, run := range session.NewWorkflowRuns(live).Workflows() {
		part := slices.ContainsFunc(run.Events,
			func(e *session.Event) bool { return e.InvocationID == invocation })
		if part && run.Open() &&
			slices.ContainsFunc(run.Events, func(e *session.Event) bool { return asking[e] }) {
			paths = append(paths, run.Path)
		}
	}
	return paths, nil
}

// abandon ends the runs of workflows, which wait, by an event each.
func (s Service) abandon(
	ctx context.Context, app *apps.App, key session.Key, paths []string, wait bool,
) error {
	for _, path := range paths {
		if name, _, _ := strings.Cut(path, "@"); name != app.Runner.Agent().Name() {
			return web.NotPossible("a workflow waits that is not the app's agent, " +
				"and only the app's agent ends its run; rewind the session to before it")
		}
		q := Request(app, key, workflow.Abandon(path))
		if !wait {
			_, follower, err := s.Runs.Start(ctx, q, 0)
			if err != nil {
				return err
			}
			follower.Close()
			continue
		}
		run, err := s.Run(ctx, q)
		if err != nil {
			return err
		}
		if end := run.End(); end.Kind != runs.Done {
			return denied(end.Reason)
		}
	}
	return nil
}
