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
		x.kept.drop(x.key)
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
	kept, err := x.readLive(ctx, s)
	if err != nil {
		return err
	}
	temp := map[string]any{}
	if x.view != nil {
		temp, _ = store.SplitTemp(x.view.State())
	}
	x.view = store.NewView(s, kept.live.events)
	x.prints.read(kept.live, kept.beside)
	x.kept.put(kept)
	x.view.Set(temp)
	x.snapshot = nil
	x.stale = false
	return nil
}

// readLive returns the live view of a session: the kept one with what was appended since, if that can be, else all
// of it from the store. It is the caller's alone until it is put back.
func (x *run) readLive(ctx context.Context, s *session.Session) (*keptView, error) {
	v := x.kept.take(x.key)
	if v != nil && v.follows(s) {
		if e := v.changed(); e != nil {
			x.opt.Log.Warn("an event was changed in place after an earlier run on the session; the session is read anew",
				"session", x.key, "invocation", x.id, "event", e.ID, "number", e.Seq)
		} else {
			ok, err := x.readNew(ctx, s, v)
			if err != nil {
				return nil, err
			}
			if ok {
				return v, nil
			}
		}
	}

	v = newKeptView(x.key, s.Number)
	for e, err := range x.opt.Sessions.Read(ctx, x.key, session.Selection{Live: true}) {
		if err != nil {
			return nil, err
		}
		v.add(e)
	}
	v.at(s)
	return v, nil
}

// readNew adds to a kept view what was appended to the session since, and reports whether the view is the session's
// live view then. If not, it must be thrown away.
func (x *run) readNew(ctx context.Context, s *session.Session, v *keptView) (bool, error) {
	// The last event that the view has is read once more: another one there is another log.
	next := v.position + 1
	sel := session.Selection{After: v.position}
	if v.last != "" {
		sel.After--
	} else if v.position == s.Position {
		return true, nil
	}
	for e, err := range x.opt.Sessions.Read(ctx, x.key, sel) {
		switch {
		case err != nil:
			return false, err
		case e.Seq == v.position && e.ID == v.last && next == e.Seq+1:
			continue
		case e.Seq != next || e.Marker():
			return false, nil
		}
		v.add(e)
		next++
	}
	if next != s.Position+1 {
		return false, nil
	}
	v.at(s)
	return true, nil
}

// readShared reads the state that other sessions change, too, as it is now.
func (x *run) readShared(ctx context.Context) error {
	s, err := x.opt.Sessions.Get(ctx, x.key)
	if err != nil {
		return err
	}
	if x.view != nil {
		if x.view.SetShared(s.State) {
			x.snapshot = nil
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
	x.take(&now)
	return nil
}
