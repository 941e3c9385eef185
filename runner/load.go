package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// load reads the session as it is.
func (x *run) load(ctx context.Context) error {
	// What is known of it?
	s, err := x.opt.Sessions.Get(ctx, x.key)
	if errors.Is(err, session.ErrNotFound) {
		x.views.Drop(x.key)
	}
	if err != nil {
		return err
	}
	if x.number == 0 {
		x.number = s.Number
	}
	if s.Number != x.number {
		return &session.KeyError{Key: x.key, Err: fmt.Errorf("%w: it was deleted, and another one made under its key", session.ErrNotFound)}
	}
	if err := x.owners.CheckInitial(s.Initial); err != nil && !x.opt.Restore {
		return &session.KeyError{Key: x.key, Err: err}
	}

	// What is live in it?
	x.loan, err = x.views.Read(ctx, x.opt.Sessions, s)
	if err != nil {
		return err
	}
	if e := x.loan.Discarded; e != nil {
		x.opt.Log.Warn("an event was changed in place after an earlier run on the session; the session is read anew",
			"session", x.key, "invocation", x.id, "event", e.ID, "number", e.Seq)
	}
	temp := map[string]any{}
	if x.view != nil {
		temp, _ = store.SplitTemp(x.view.State())
	}
	x.view = store.NewView(s, x.loan.Events())
	x.view.Set(temp)
	x.snapshot.Lend(nil)
	x.stale = false
	return nil
}

// readShared reads the state that other sessions change, too, as it is now.
func (x *run) readShared(ctx context.Context) error {
	s, err := x.opt.Sessions.Get(ctx, x.key)
	if err != nil {
		return err
	}
	if x.view != nil {
		if x.view.SetShared(s.State) {
			x.snapshot.Lend(nil)
		}
		return nil
	}
	// There is no view in the background, nor if the session could not be read: then the snapshot is changed.
	now := *x.invocation()
	now.State = maps.Clone(now.State)
	if now.State == nil {
		now.State = map[string]any{}
	}
	maps.DeleteFunc(now.State, func(key string, _ any) bool { return session.SharedKey(key) })
	for key, value := range s.State {
		if session.SharedKey(key) {
			now.State[key] = value
		}
	}
	x.snapshot.Lend(&now)
	return nil
}
