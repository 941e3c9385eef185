// Package retention deletes what is kept no longer: a session, all that belongs to a user, and the sessions
// that nobody has used for a while.
package retention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
)

// A Store is where things are deleted.
type Store struct {
	Sessions  session.Service
	Artifacts artifact.Service // nil if there is none
	// DryRun deletes nothing: the Report says what would be deleted.
	DryRun bool
}

// A Report says what was deleted.
type Report struct {
	Sessions []session.Key `json:"sessions"`
	// Artifacts is how many there were, with all their versions.
	Artifacts int `json:"artifacts"`
	// State are the keys of the user's state.
	State []string `json:"state,omitzero"`
}

// Session deletes a session with its events and its artifacts. The state and the artifacts of its user stay. A run
// on it is cancelled first (session.Service.Cancel): its tools would save artifacts that nobody deletes.
// It is session.ErrNotFound if there is none. A deletion that was cut short leaves the session there, and can
// be made again.
func (s Store) Session(ctx context.Context, key session.Key) (*Report, error) {
	if _, err := s.Sessions.Get(ctx, key); err != nil {
		return nil, err
	}
	report := &Report{}
	err := s.session(ctx, key, report)
	return report, err
}

func (s Store) session(ctx context.Context, key session.Key, report *Report) error {
	if err := s.quiet(ctx, key); err != nil {
		return err
	}
	own := func(name string) bool { return !strings.HasPrefix(name, artifact.UserPrefix) }
	if err := s.artifacts(ctx, key, own, report); err != nil {
		return err
	}
	if !s.DryRun {
		err := s.Sessions.Delete(ctx, key)
		if err != nil {
			return err
		}
	}
	report.Sessions = append(report.Sessions, key)
	return nil
}

// quiet ends what runs on a session. It is an error if others begin again and again.
func (s Store) quiet(ctx context.Context, key session.Key) error {
	if s.DryRun {
		return nil
	}
	for range 1000 {
		now, err := s.Sessions.Get(ctx, key)
		if err != nil || now.Holder == "" {
			return err
		}
		if err := s.Sessions.Cancel(ctx, key, now.Holder); err != nil {
			return err
		}
	}
	return fmt.Errorf("session %s is not deleted: runs begin on it again and again", key)
}

// artifacts deletes a session's artifacts of the names that are chosen.
func (s Store) artifacts(ctx context.Context, key session.Key, chosen func(name string) bool, report *Report) error {
	if s.Artifacts == nil {
		return nil
	}
	names, err := s.Artifacts.List(ctx, key)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !chosen(name) {
			continue
		}
		if !s.DryRun {
			if err := s.Artifacts.Delete(ctx, key, name); err != nil {
				return err
			}
		}
		report.Artifacts++
	}
	return nil
}

// Before deletes an app's sessions that had no append since a time, and returns what it deleted. An error
// ends it; what was deleted until then is in the Report.
func (s Store) Before(ctx context.Context, app string, since time.Time) (*Report, error) {
	return s.each(ctx, app, "", func(key session.Key) (bool, error) {
		// It may have been used since it was listed.
		now, err := s.Sessions.Get(ctx, key)
		return err == nil && now.Updated.Before(since) && now.Holder == "", err
	})
}

// User deletes all that belongs to an app's user: sessions, artifacts and state. Their runs are cancelled first. It
// does nothing, without an error, for a user without any of it.
func (s Store) User(ctx context.Context, app, user string) (*Report, error) {
	// State and artifacts of a user are reached through a session.
	key := session.Key{App: app, User: user}
	if err := key.Check(true); err != nil {
		return nil, err
	}
	report, err := s.each(ctx, app, user, func(session.Key) (bool, error) { return true, nil })
	if err != nil {
		return report, err
	}
	door, err := s.Sessions.Create(ctx, key, nil)
	if err != nil {
		return report, err
	}
	err = s.user(ctx, door, report)
	return report, errors.Join(err, s.Sessions.Delete(context.WithoutCancel(ctx), door.Key))
}

// user deletes a user's artifacts and state, by a session of theirs.
func (s Store) user(ctx context.Context, door *session.Session, report *Report) error {
	users := func(name string) bool { return strings.HasPrefix(name, artifact.UserPrefix) }
	if err := s.artifacts(ctx, door.Key, users, report); err != nil {
		return err
	}
	none := map[string]any{}
	for key := range door.State {
		if strings.HasPrefix(key, session.UserPrefix) {
			none[key] = nil
		}
	}
	report.State = slices.Sorted(maps.Keys(none))
	if len(none) == 0 || s.DryRun {
		return nil
	}
	e := &session.Event{Author: session.User}
	e.Actions.StateDelta = none
	_, err := s.Sessions.Append(ctx, session.At{Key: door.Key, After: door.Position}, e)
	return err
}

// each deletes those of an app's sessions that are chosen: those of a user, if one is named.
func (s Store) each(ctx context.Context, app, user string, chosen func(session.Key) (bool, error)) (*Report, error) {
	report := &Report{Sessions: []session.Key{}}
	var keys []session.Key
	for one, err := range s.Sessions.List(ctx, app, user) {
		if err != nil {
			return report, err
		}
		keys = append(keys, one.Key)
	}
	for _, key := range keys {
		yes, err := chosen(key)
		if err == nil && yes {
			err = s.session(ctx, key, report)
		}
		if err != nil && !errors.Is(err, session.ErrNotFound) { // somebody else may have deleted it
			return report, err
		}
	}
	return report, nil
}
