// Package sessions has what a caller can do to a session: run an input and wait, answer calls, change the
// state, rewind, compact, fork, cancel and delete. The surfaces of the server (packages v1, kit, agui,
// uistream and a2a) read a request in the form of their protocol, call an operation of this package, and write what came
// of it. What is allowed, and in which order things happen, is said here, once for all of them.
//
// To add an operation, write a method of Service here, in the file of its noun, and call it from each surface
// whose protocol has a request for it. An error that a client shall understand is a *web.Problem.
package sessions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/retention"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// A Service has the operations on sessions.
type Service struct{ *web.Core }

// Request returns the request to run an input of the session's user.
func Request(app *apps.App, key session.Key, input *session.Event) runs.Request {
	return runs.Request{Runner: app.Runner, Key: key, Input: input, User: key.User}
}

// Run starts a run and waits for its end. It returns web.ErrLeft if the caller leaves before that, and the
// run's error if it fails.
func (s Service) Run(ctx context.Context, q runs.Request) (*runs.Run, error) {
	run, follower, err := s.Runs.Start(ctx, q, 0)
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	if err := web.WaitForEnd(ctx, run); err != nil {
		return nil, err
	}
	return run, run.End().Err
}

// Create makes a session. State that is a plugin's is refused, and what the caller may not write.
func (s Service) Create(
	ctx context.Context, app *apps.App, key session.Key, state map[string]any,
) (*session.Session, error) {
	if err := plugin.OwnersOf(app.Runner.Plugins()...).CheckInitial(state); err != nil {
		return nil, err
	}
	if err := runs.CheckState(ctx, key, state); err != nil {
		return nil, err
	}
	if err := s.Budget.StateFits(nil, state); err != nil {
		return nil, err
	}
	stored, err := s.Budget.RoomForNew(ctx, app.Sessions(), key.App, key.User, limits.WeightOfValue(state))
	if err != nil {
		return nil, err
	}
	made, err := app.Sessions().Create(ctx, key, state)
	stored(err == nil)
	return made, err
}

// PatchState changes keys of a session's state; nil deletes one. It is an input, with the id unless that is
// "", so that plugins see it like any other.
func (s Service) PatchState(
	ctx context.Context, app *apps.App, key session.Key, id string, delta map[string]any,
) (*session.Session, error) {
	input := &session.Event{ID: id, Author: session.User}
	input.Actions.StateDelta = delta
	q := Request(app, key, input)
	q.Config.NoAgent = true
	run, err := s.Run(ctx, q)
	if err != nil {
		return nil, err
	}
	if end := run.End(); end.Kind != runs.Done || len(run.Events()) == 0 { // a plugin has refused or withheld it
		return nil, denied(end.Reason)
	}
	return app.Sessions().Get(ctx, key)
}

// denied is the Problem of an input that a plugin has refused.
func denied(why string) *web.Problem {
	return web.NewProblem(http.StatusForbidden, "denied", cmp.Or(why, "a plugin has refused it"))
}

// Fork makes a session of the first events of another one: of those up to a position, or of all if that is
// nil. The new session has the id, or one of the store's if that is "".
func (s Service) Fork(
	ctx context.Context, app *apps.App, key session.Key, position *int64, id string,
) (fork *session.Session, err error) {
	from, err := app.Sessions().Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if position == nil {
		position = &from.Position
	}
	// A fork stores its events again, and has them in memory while it does.
	size, err := s.Budget.Size(ctx, app.Sessions(), key)
	if err != nil {
		return nil, err
	}
	n := size.Log + limits.WeightOfValue(from.Initial)
	stored, err := s.Budget.RoomForNew(ctx, app.Sessions(), key.App, key.User, n)
	if err != nil {
		return nil, err
	}
	defer func() { stored(err == nil) }()
	hold := web.HoldOf(ctx)
	if err := hold.TakeJSON(size.Log); err != nil {
		return nil, err
	}
	end, err := hold.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return session.Fork(ctx, app.Sessions(), key, *position, id)
}

// Delete deletes a session and its files. What runs on it is cancelled first, and what waits to run on it:
// that might make the session again.
func (s Service) Delete(ctx context.Context, app *apps.App, key session.Key) error {
	if _, err := app.Sessions().Get(ctx, key); err != nil {
		return err
	}
	s.Runs.CancelAll(ctx, func(other session.Key) bool { return other == key })
	defer s.Budget.Forget(key.User)
	_, err := app.Stores(false).Session(ctx, key)
	return err
}

// DeleteUser deletes all that belongs to a user: sessions, artifacts and state; or says what it would delete.
// What runs is cancelled first, as Delete does.
func (s Service) DeleteUser(
	ctx context.Context, app *apps.App, user string, dryRun bool,
) (*retention.Report, error) {
	if !dryRun {
		s.Runs.CancelAll(ctx,
			func(other session.Key) bool { return other.App == app.Name && other.User == user })
	}
	defer s.Budget.Forget(user)
	return app.Stores(dryRun).User(ctx, app.Name, user)
}

// Command sends the command for an action to the app's plugins, as an input with the id unless that is "". It
// returns the run, which has ended and has what came of it.
func (s Service) Command(
	ctx context.Context, app *apps.App, key session.Key, action plugin.Action, args map[string]any, id string,
) (*runs.Run, error) {
	command := app.Command(action)
	if command == nil {
		return nil, runner.ErrCommand
	}
	if _, err := app.Sessions().Get(ctx, key); err != nil {
		return nil, err
	}
	input := session.Command{Name: command.Name, Args: args}.Event()
	input.ID = id
	run, err := s.Run(ctx, Request(app, key, input))
	if errors.Is(err, session.ErrIDReused) {
		if before, e := s.rewound(ctx, app, key, command.Name, id, args); before != nil || e != nil {
			return before, e
		}
	}
	if err != nil {
		return nil, err
	}
	for _, e := range run.Events() {
		switch e.ErrorCode {
		case plugin.CommandRefused:
			return nil, web.NotPossible(cmp.Or(e.ErrorMessage, e.ErrorCode))
		case session.Denied:
			_, why, _ := plugin.Denial(e)
			return nil, denied(cmp.Or(why, e.ErrorMessage, e.ErrorCode))
		}
	}
	return run, nil
}

// rewound returns what became of a rewind whose command had an id and arguments: its run, nil if there was none with
// these. A rewind is not in the live view, so the runner does not find it there.
func (s Service) rewound(
	ctx context.Context, app *apps.App, key session.Key, command, id string, args map[string]any,
) (*runs.Run, error) {
	for e, err := range app.Sessions().Read(ctx, key, session.Selection{}) {
		if err != nil {
			return nil, err
		}
		if e.Actions.Rewind != nil && e.ID == command+":"+id {
			was, ok := e.CustomMetadata[command].(map[string]any)
			if ok && !sameJSON(was, args) {
				return nil, nil
			}
			return runs.Ended(key, e), nil
		}
	}
	return nil, nil
}

// sameJSON reports whether two objects are the same as JSON.
func sameJSON(a, b map[string]any) bool {
	first, err := json.Marshal(a, json.Deterministic(true))
	second, err2 := json.Marshal(b, json.Deterministic(true))
	return err == nil && err2 == nil && bytes.Equal(first, second)
}

// DryRun returns what the command for an action would do.
func (s Service) DryRun(
	ctx context.Context, app *apps.App, key session.Key, action plugin.Action, args map[string]any,
) (any, error) {
	command := app.Command(action)
	if command == nil {
		return nil, runner.ErrCommand
	}
	return command.DryRun(ctx, app.Sessions(), key, session.Command{Name: command.Name, Args: args})
}
