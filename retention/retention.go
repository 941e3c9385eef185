// Package retention deletes what is kept no longer: a session, all that belongs to a user, and the sessions
// that nobody has used for a while.
//
// A new kind of data that belongs to a session or a user: delete it in Store.all or Store.user, and count it in Report.
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
// on it is cancelled first (session.Service.Cancel), and none begins until the session is gone: its tools would save
// artifacts that nobody deletes. It is session.ErrNotFound if there is none. A deletion that was cut short leaves the
// session there, and can be made again.
func (s Store) Session(ctx context.Context, key session.Key) (*Report, error) {
	if _, err := s.Sessions.Get(ctx, key); err != nil {
		return nil, err
	}
	report := &Report{}
	err := s.session(ctx, key, report)
	return report, err
}

// session deletes a session. It cancels the run on it first, if there is one.
func (s Store) session(ctx context.Context, key session.Key, report *Report) error {
	if s.DryRun {
		return s.all(ctx, key, report)
	}
	for range 1000 {
		now, err := s.Sessions.Get(ctx, key)
		if err == nil {
			err = s.Sessions.Cancel(ctx, key, now.Holder)
		}
		if err != nil {
			return err
		}
		lease, err := s.lease(ctx, key)
		if err != nil {
			return err
		}
		if lease != nil {
			defer lease.Release()
			return s.all(ctx, key, report)
		}
	}
	return fmt.Errorf("session %s is not deleted: runs begin on it again and again", key)
}

// leaseTime is how long to wait for a lease, which is free if no run began just now. A busy machine may need long to
// take it.
const leaseTime = 5 * time.Second

// lease takes a session's lease, so that no run begins. It is nil if somebody has it.
func (s Store) lease(ctx context.Context, key session.Key) (*session.Lease, error) {
	soon, stop := context.WithTimeout(ctx, leaseTime)
	defer stop()
	lease, err := s.Sessions.Lease(soon, key, "deletion")
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return lease, err
}

// all deletes a session and its artifacts.
func (s Store) all(ctx context.Context, key session.Key, report *Report) error {
	own := func(name string) bool { return !strings.HasPrefix(name, artifact.UserPrefix) }
	if err := s.artifacts(ctx, key, own, report); err != nil {
		return err
	}
	if !s.DryRun {
		if err := s.Sessions.Delete(ctx, key); err != nil {
			return err
		}
		// What was saved while the others were deleted. What is saved from now on is refused (artifact.Bind).
		if err := s.artifacts(ctx, key, own, report); err != nil {
			return err
		}
	}
	report.Sessions = append(report.Sessions, key)
	return nil
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

// Before deletes the sessions of an app to which nothing was appended since a time and on which no run is active, and
// artifacts that earlier deletions have left behind. It
// stops at the first error. The Report has what was deleted until then, too.
func (s Store) Before(ctx context.Context, app string, since time.Time) (*Report, error) {
	report := &Report{Sessions: []session.Key{}}
	err := s.each(ctx, app, "", func(key session.Key) error { return s.unused(ctx, key, since, report) })
	if err == nil {
		err = s.Sweep(ctx, app, report)
	}
	return report, err
}

// unused deletes a session that nobody runs and that had no append since a time.
func (s Store) unused(ctx context.Context, key session.Key, since time.Time, report *Report) error {
	// It may have been used since it was listed.
	now, err := s.Sessions.Get(ctx, key)
	if err != nil || !now.Updated.Before(since) || now.Holder != "" {
		return err
	}
	if s.DryRun {
		return s.all(ctx, key, report)
	}
	// And a run may have begun since.
	lease, err := s.lease(ctx, key)
	if err != nil || lease == nil {
		return err
	}
	defer lease.Release()
	now, err = s.Sessions.Get(ctx, key)
	if err != nil || !now.Updated.Before(since) {
		return err
	}
	return s.all(ctx, key, report)
}

// User deletes all that belongs to an app's user: sessions, artifacts and state. Their runs are cancelled first. It
// does nothing, without an error, for a user without any of it. Sessions that are made meanwhile are deleted, too; what
// is made after it has returned is not.
func (s Store) User(ctx context.Context, app, user string) (*Report, error) {
	// State and artifacts of a user are reached through a session.
	key := session.Key{App: app, User: user}
	if err := key.Check(true); err != nil {
		return nil, err
	}
	report := &Report{Sessions: []session.Key{}}
	sessions := func(but session.Key) error {
		return s.each(ctx, app, user, func(key session.Key) error {
			if key == but {
				return nil
			}
			return s.session(ctx, key, report)
		})
	}
	if err := sessions(key); err != nil {
		return report, err
	}
	helper, err := s.Sessions.Create(ctx, key, nil)
	if err != nil {
		return report, err
	}
	key = helper.Key
	err = s.user(ctx, key, report)
	// A run may make another session of the user while these are deleted. List them again until there is none.
	for more := !s.DryRun; more && err == nil; {
		before := len(report.Sessions)
		err = sessions(key)
		more = len(report.Sessions) > before
		if more && err == nil {
			err = s.user(ctx, key, report)
		}
	}
	err = errors.Join(err, s.Sessions.Delete(context.WithoutCancel(ctx), key))
	if keeper, ok := s.Artifacts.(artifact.Keeper); ok && err == nil && !s.DryRun {
		// What was saved meanwhile, and what an earlier deletion has left that did not come to its end.
		var n int
		n, err = keeper.DeleteUser(ctx, app, user)
		report.Artifacts += n
	}
	return report, err
}

// Sweep deletes the artifacts of an app's sessions that are not there any more: a deletion that did not come to its end
// has left them. It does nothing if the artifacts' service cannot tell what it keeps (artifact.Keeper).
func (s Store) Sweep(ctx context.Context, app string, report *Report) error {
	keeper, ok := s.Artifacts.(artifact.Keeper)
	if !ok || s.DryRun {
		return nil
	}
	n, err := keeper.Sweep(ctx, app, func() (keys []session.Key, err error) {
		err = s.each(ctx, app, "", func(key session.Key) error {
			keys = append(keys, key)
			return nil
		})
		return keys, err
	})
	report.Artifacts += n
	return err
}

// user deletes a user's artifacts and state, by a session of theirs.
func (s Store) user(ctx context.Context, key session.Key, report *Report) error {
	users := func(name string) bool { return strings.HasPrefix(name, artifact.UserPrefix) }
	if err := s.artifacts(ctx, key, users, report); err != nil {
		return err
	}
	now, err := s.Sessions.Get(ctx, key)
	if err != nil {
		return err
	}
	deleted := map[string]any{} // nil values delete keys
	for name := range now.State {
		if strings.HasPrefix(name, session.UserPrefix) {
			deleted[name] = nil
		}
	}
	report.State = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(report.State, maps.Keys(deleted)))))
	if len(deleted) == 0 || s.DryRun {
		return nil
	}
	e := &session.Event{Author: session.User}
	e.Actions.StateDelta = deleted
	_, err = s.Sessions.Append(ctx, session.AppendTarget{Key: key, After: now.Position}, e)
	return err
}

// each calls do for each of an app's sessions: those of a user, if one is named.
func (s Store) each(ctx context.Context, app, user string, do func(session.Key) error) error {
	var keys []session.Key
	for listed, err := range s.Sessions.List(ctx, app, user) {
		if err != nil {
			return err
		}
		keys = append(keys, listed.Key)
	}
	for _, key := range keys {
		err := do(key)
		if err != nil && !errors.Is(err, session.ErrNotFound) { // somebody else may have deleted it
			return err
		}
	}
	return nil
}
