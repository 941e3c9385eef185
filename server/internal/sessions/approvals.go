package sessions

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// An Approval is a call, of any session, that waits for a yes or no of the caller.
type Approval struct {
	App     string    `json:"app"`
	User    string    `json:"user"`
	Session string    `json:"session"`
	Updated time.Time `json:"updated"`
	WaitingCall
}

// Approvals lists the calls of an app's sessions that wait for a yes or no which the context's caller can give by a role:
// those of the session that was updated last first, and limit at most. What only the session's own user decides is not
// among them.
func (s Service) Approvals(ctx context.Context, app *apps.App, limit int) ([]Approval, error) {
	list := []Approval{}
	for hit, err := range app.Sessions().Search(ctx, session.Query{App: app.Name, Waiting: true}) {
		if err != nil {
			return nil, err
		}
		key := hit.Session.Key
		calls, err := s.forOthers(ctx, app, key)
		if err != nil {
			return nil, err
		}
		for _, c := range calls {
			list = append(list, Approval{
				App:         key.App,
				User:        key.User,
				Session:     key.ID,
				Updated:     hit.Session.Updated,
				WaitingCall: c,
			})
		}
		if len(list) >= limit {
			return list[:limit], nil
		}
	}
	return list, nil
}

// forOthers returns the calls of a session that wait for a role of the context's caller, other than the user's.
func (s Service) forOthers(ctx context.Context, app *apps.App, key session.Key) ([]WaitingCall, error) {
	who := runs.SenderOf(ctx, key)
	calls, err := s.Waiting(ctx, app, key)
	return slices.DeleteFunc(calls, func(c WaitingCall) bool {
		return !slices.ContainsFunc(c.By, func(a session.Approver) bool { return a.By != session.UserRole && who.Has(a.By) })
	}), err
}

// Decide says yes or no to calls of a session, which need not be of the caller's user, and goes on with it. It returns when
// the decision is in the log, or the run has ended. A session without such a call is not found: it is not for the
// caller to know.
func (s Service) Decide(
	ctx context.Context, app *apps.App, key session.Key, id string, yes bool, reason string, calls []string,
) (*runs.Run, error) {
	if err := key.Check(false); err != nil {
		return nil, err
	}
	waiting, err := s.forOthers(ctx, app, key)
	if err != nil {
		return nil, err
	}
	input := session.Decision(yes, calls...)
	input.ID = id
	for _, call := range calls {
		there := slices.ContainsFunc(waiting, func(c WaitingCall) bool { return c.ID == call })
		if !there && (id == "" || !s.decided(ctx, app, key, id)) {
			return nil, web.NewProblem(http.StatusNotFound, "not_found", "no such call waits for you")
		}
		if reason != "" {
			input.Actions.Confirm(call, session.Confirmation{Confirmed: yes, Payload: reason})
		}
	}
	run, follower, err := s.Runs.Start(ctx, Request(app, key, input), 0)
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	if _, err := follower.Next(ctx, 365*24*time.Hour); !errors.Is(err, io.EOF) {
		return run, err
	}
	return run, run.End().Err
}

// decided reports whether the context's caller has sent an input before.
func (s Service) decided(ctx context.Context, app *apps.App, key session.Key, id string) bool {
	who := runs.SenderOf(ctx, key)
	for e, err := range app.Sessions().Read(ctx, key, session.Selection{}) {
		if err != nil {
			return false
		}
		for _, c := range e.Actions.RequestedToolConfirmations {
			if e.ID == id && e.Author == session.User && c.Name == who.Name {
				return true
			}
		}
	}
	return false
}
