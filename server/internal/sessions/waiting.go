package sessions

import (
	"context"
	"slices"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A WaitingCall is a function call that waits for an answer from outside.
type WaitingCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
	// Interim is the latest response that leaves the call waiting.
	Interim map[string]any `json:"interim,omitzero"`
	// Confirm says that it waits for a yes or no, rather than for its response.
	Confirm bool   `json:"confirm"`
	Hint    string `json:"hint,omitzero"`
	// By are those whose yes it waits for.
	By []session.Approver `json:"by,omitzero"`
	// Invocation is the invocation that has made the call.
	Invocation string `json:"-"`
}

// Live returns the live view of a session. The request has the memory for it until it is answered.
func (s Service) Live(ctx context.Context, app *apps.App, key session.Key) ([]*session.Event, error) {
	return s.ReadAll(ctx, app, key, session.Selection{Live: true})
}

// ReadAll is session.ReadAll. The request has the memory for what it returns until it is answered.
func (s Service) ReadAll(
	ctx context.Context, app *apps.App, key session.Key, sel session.Selection,
) ([]*session.Event, error) {
	size, err := s.Budget.Size(ctx, app.Sessions(), key)
	if err != nil {
		return nil, err
	}
	hold := web.HoldOf(ctx)
	if !sel.Live {
		size.Live = size.Log
	}
	if err := hold.TakeJSON(size.Live); err != nil {
		return nil, err
	}
	end, err := hold.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return session.ReadAll(ctx, app.Sessions(), key, sel)
}

// Waiting returns the calls of a session that wait for an answer from outside, not those that an agent
// answers.
func (s Service) Waiting(ctx context.Context, app *apps.App, key session.Key) ([]WaitingCall, error) {
	live, err := s.Live(ctx, app, key)
	if err != nil {
		return nil, err
	}
	return WaitingIn(live), nil
}

// Mine returns those of the calls that the context's caller may answer.
func Mine(ctx context.Context, key session.Key, calls []WaitingCall) []WaitingCall {
	who := runs.SenderOf(ctx, key)
	return slices.DeleteFunc(slices.Clone(calls), func(c WaitingCall) bool {
		return c.Confirm && !slices.ContainsFunc(c.By, func(a session.Approver) bool { return who.Has(a.By) })
	})
}

// WaitingAfter is Waiting as a run has left the session, or as the session is now if that is not known.
func (s Service) WaitingAfter(ctx context.Context, app *apps.App, run *runs.Run) ([]WaitingCall, error) {
	if calls, known := run.Waiting(); known {
		return waitingOf(calls), nil
	}
	return s.Waiting(ctx, app, run.Key)
}

// WaitingIn is Waiting of a live view.
func WaitingIn(live []*session.Event) []WaitingCall {
	return waitingOf(slices.DeleteFunc(session.Calls(live), func(c session.Call) bool { return !c.Waits() }))
}

// waitingOf returns what is told of calls that wait, without those that an agent answers.
func waitingOf(calls []session.Call) []WaitingCall {
	list := []WaitingCall{}
	for _, c := range runs.Outside(calls) {
		confirm := c.Held != nil && c.Decision == nil
		waiting := WaitingCall{
			ID:         c.ID,
			Name:       c.Name,
			Args:       c.Args,
			Confirm:    confirm,
			Invocation: c.Event.InvocationID,
		}
		if _, latest := c.Latest(); latest != nil {
			waiting.Interim = latest.Response
		}
		if confirm {
			waiting.By = c.Asked()
			waiting.Hint = c.Held.Actions.RequestedToolConfirmations[c.ID].Hint
		}
		list = append(list, waiting)
	}
	return list
}
