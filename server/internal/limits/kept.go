package limits

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
)

// kept is how much a store keeps of something: as it was when it was asked, and what was added since.
type kept struct {
	session.Size
	asked time.Time // zero if the store was not asked yet, or something was deleted since
	grown int64     // all that was added since the process knows of it
	saved int64     // bytes that are being stored at this moment
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
	k := p.known(name, key)
	size, grown, age := k.Size, k.grown, time.Since(k.asked)
	p.mu.Unlock()
	limit := row.value(&p.Limits)
	if age < fresh && (age < time.Second || limit == 0 || size.Log < limit-limit/5) {
		return size, nil
	}
	size, err := ask()
	if err != nil {
		return size, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// What was added while the store was asked may be missing in what it has said.
	size.Log += k.grown - grown
	size.Live += k.grown - grown
	k.Size = size
	k.asked = time.Now()
	p.tell(row, name, size.Log)
	return size, nil
}

// known returns what is known of a user's key. p.mu is held.
func (p *Process) known(name string, key session.Key) *kept {
	u := p.user(name)
	if u == nil {
		return &kept{}
	}
	k := u.kept[key]
	if k == nil {
		if len(u.kept) > 1000 {
			maps.DeleteFunc(u.kept, func(of session.Key, k *kept) bool {
				return k.saved == 0 && of.ID != "" && of.ID != artifactsOf
			})
		}
		k = &kept{}
		u.kept[key] = k
	}
	return k
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
	stored, err := p.roomInAll(ctx, sessions, key, n)
	if err == nil {
		stored(true)
	}
	return size, err
}

// RoomForNew is Room for a session of a user that is made next, with n bytes of events and state. The caller says
// afterwards whether it was stored: until then its bytes are not another one's.
func (p *Process) RoomForNew(
	ctx context.Context, sessions session.Service, app, user string, n int64,
) (stored func(bool), err error) {
	return p.roomInAll(ctx, sessions, session.Key{App: app, User: user}, n)
}

// roomInAll is Room for a session whose size is known, or which is new and has no ID in its key.
func (p *Process) roomInAll(
	ctx context.Context, sessions session.Service, key session.Key, n int64,
) (stored func(bool), err error) {
	all := session.Key{App: key.App, User: key.User}
	if p.Limits.UserSessions > 0 {
		if _, err := p.Size(ctx, sessions, all); err != nil {
			return nil, err
		}
	}
	if key == all {
		if limit := p.Limits.Session; limit > 0 && n > limit {
			return nil, p.exceeded(Session)
		}
		return p.reserve(key.User, n, bounded{all, UserSessions})
	}
	return p.reserve(key.User, n, bounded{key, Session}, bounded{all, UserSessions})
}

// RoomForArtifact returns an *Exceeded if n more bytes are more than a user may have as artifacts. The caller says
// afterwards whether they were stored: until then they are not another one's.
func (p *Process) RoomForArtifact(
	ctx context.Context, files artifact.Service, key session.Key, n int64,
) (stored func(bool), err error) {
	sizer, ok := files.(artifact.Keeper)
	if !ok {
		return func(bool) {}, nil
	}
	of := session.Key{App: key.App, User: key.User, ID: artifactsOf}
	_, err = p.size(key.User, of, UserArtifacts, func() (session.Size, error) {
		n, err := sizer.Size(ctx, key.App, key.User)
		return session.Size{Log: n}, err
	})
	if err != nil {
		return nil, err
	}
	return p.reserve(key.User, max(n, artifact.LeastSize), bounded{of, UserArtifacts})
}

// artifactsOf is no session's ID: the size of a user's artifacts stands under it.
const artifactsOf = "\x00artifacts"

// A bounded is a key whose size a limit bounds.
type bounded struct {
	key session.Key
	row *Row
}

// reserve counts n bytes under each key as being stored, or refuses them if there is no room under one of them.
func (p *Process) reserve(name string, n int64, under ...bounded) (stored func(bool), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range under {
		k := p.known(name, b.key)
		if limit := b.row.value(&p.Limits); limit > 0 && k.Log+k.saved+n > limit {
			return nil, p.refuse(b.row)
		}
	}
	var all []*kept
	for _, b := range under {
		k := p.known(name, b.key)
		k.saved += n
		all = append(all, k)
	}
	return func(was bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, k := range all {
			k.saved -= n
			if was {
				k.grow(n)
				p.tell(under[i].row, name, k.Log)
			}
		}
	}, nil
}

// grow counts n bytes that were added.
func (k *kept) grow(n int64) {
	k.Log += n
	k.Live += n
	k.grown += n
}

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
	for of, row := range rows {
		if k := u.kept[of]; k != nil {
			k.grow(n)
			p.tell(row, key.User, k.Log)
		}
	}
}

// Forget says that something of a user was deleted: the stores are asked again how much they keep.
func (p *Process) Forget(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.users[user]; u != nil {
		for _, k := range u.kept {
			k.asked = time.Time{}
		}
	}
}
