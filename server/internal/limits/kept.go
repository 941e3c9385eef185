package limits

import (
	"context"
	"errors"
	"time"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
)

// kept is how much a store keeps of something: as it was when it was asked, and what was added since.
type kept struct {
	session.Size
	asked time.Time
}

// fresh is how long what a store has said is taken for true. Where most of a limit is in use, it is a second:
// something may have been deleted, or another server may have added something.
const fresh = time.Minute

// Size returns how much the store keeps of a session; or, without an ID in the key, of all sessions of a user.
func (p *Process) Size(ctx context.Context, sessions session.Service, key session.Key) (session.Size, error) {
	row := Session
	if key.ID == "" {
		row = UserSessions
	}
	return p.size(key.User, key, row, func() (session.Size, error) {
		sizer, ok := sessions.(session.Sizer)
		if !ok {
			return session.Size{}, nil
		}
		size, err := sizer.Size(ctx, key)
		if errors.Is(err, session.ErrNotFound) {
			err = nil
		}
		return size, err
	})
}

// size returns how much is kept under a key, and asks for it if that is not known, or was asked long ago.
func (p *Process) size(name string, key session.Key, row *Row, ask func() (session.Size, error)) (session.Size, error) {
	p.mu.Lock()
	u := p.user(name)
	var known *kept
	if u != nil {
		known = u.kept[key]
	}
	if known != nil {
		size := known.Size
		age := time.Since(known.asked)
		limit := row.value(&p.Limits)
		if age < fresh && (age < time.Second || limit == 0 || size.Log < limit-limit/5) {
			p.mu.Unlock()
			return size, nil
		}
	}
	p.mu.Unlock()
	size, err := ask()
	if err != nil || u == nil {
		return size, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(u.kept) > 1000 {
		clear(u.kept)
	}
	u.kept[key] = &kept{Size: size, asked: time.Now()}
	p.tell(row, name, size.Log)
	return size, nil
}

// Room returns an *Exceeded if n more bytes of events are more than a session may have, or its user in all sessions.
// Else it counts them, and returns the session's size before.
func (p *Process) Room(
	ctx context.Context, sessions session.Service, key session.Key, n int64,
) (session.Size, error) {
	size, err := p.Size(ctx, sessions, key)
	if err != nil {
		return size, err
	}
	if limit := p.Limits.Session; limit > 0 && size.Log+n > limit {
		return size, p.exceeded(Session)
	}
	if limit := p.Limits.UserSessions; limit > 0 {
		all, err := p.Size(ctx, sessions, session.Key{App: key.App, User: key.User})
		if err != nil {
			return size, err
		}
		if all.Log+n > limit {
			return size, p.exceeded(UserSessions)
		}
	}
	p.Grown(key, n)
	return size, nil
}

// RoomForArtifact returns an *Exceeded if n more bytes are more than a user may have as artifacts.
func (p *Process) RoomForArtifact(ctx context.Context, files artifact.Service, key session.Key, n int64) error {
	sizer, ok := files.(artifact.Keeper)
	limit := p.Limits.UserArtifacts
	if !ok || limit == 0 {
		return nil
	}
	of := session.Key{App: key.App, User: key.User, ID: artifactsOf}
	size, err := p.size(key.User, of, UserArtifacts, func() (session.Size, error) {
		n, err := sizer.Size(ctx, key.App, key.User)
		return session.Size{Log: n}, err
	})
	if err != nil {
		return err
	}
	if size.Log+n > limit {
		return p.exceeded(UserArtifacts)
	}
	p.Grown(of, n)
	return nil
}

// artifactsOf is no session's ID: the size of a user's artifacts stands under it.
const artifactsOf = "\x00artifacts"

// StateFits returns an *Exceeded if a state with what is set in it is larger than a session may have.
func (p *Process) StateFits(state, delta map[string]any) error {
	limit := p.Limits.State
	if limit == 0 || len(delta) == 0 {
		return nil
	}
	n := int64(0)
	added := int64(0)
	for key, value := range state {
		if _, changed := delta[key]; !changed {
			n += WeightOfValue(value) + int64(len(key))
		}
	}
	for key, value := range delta {
		if value != nil {
			added += WeightOfValue(value) + int64(len(key))
		}
	}
	if added > 0 && n+added > limit {
		return p.exceeded(State)
	}
	return nil
}

func (p *Process) exceeded(row *Row) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuse(row)
}

// Grown says that a session's log has n bytes more than the store has said.
func (p *Process) Grown(key session.Key, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.users[key.User]
	if u == nil {
		return
	}
	rows := map[session.Key]*Row{key: Session, {App: key.App, User: key.User}: UserSessions}
	if key.ID == artifactsOf {
		rows = map[session.Key]*Row{key: UserArtifacts}
	}
	for of, row := range rows {
		if k := u.kept[of]; k != nil {
			k.Log += n
			k.Live += n
			p.tell(row, key.User, k.Log)
		}
	}
}

// Forget says that something of a user was deleted: the stores are asked again how much they keep.
func (p *Process) Forget(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.users[user]; u != nil {
		clear(u.kept)
	}
}
