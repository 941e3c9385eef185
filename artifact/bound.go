package artifact

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Bind returns a Service that saves artifacts of sessions that are there, and of no others: Save is
// session.ErrNotFound if the session is not there, or was deleted while the artifact was saved. So nothing is left
// behind when a session or a user is deleted meanwhile.
func Bind(files Service, sessions session.Service) Service {
	b := bound{Service: files, sessions: sessions}
	if keeper, ok := files.(Keeper); ok {
		return boundKeeper{bound: b, Keeper: keeper}
	}
	return b
}

type bound struct {
	Service
	sessions session.Service
}

type boundKeeper struct {
	bound
	Keeper
}

// Save implements Service.
func (b boundKeeper) Save(ctx context.Context, key session.Key, name string, data *genai.Part) (int64, error) {
	return b.bound.Save(ctx, key, name, data)
}

// Save implements Service.
func (b bound) Save(ctx context.Context, key session.Key, name string, data *genai.Part) (int64, error) {
	before, err := b.sessions.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	version, err := b.Service.Save(ctx, key, name, data)
	if err != nil {
		return version, err
	}
	// Whoever deletes a session looks for its artifacts again when it is gone. So either they find this one, or the
	// session is gone by now.
	ctx = context.WithoutCancel(ctx)
	after, err := b.sessions.Get(ctx, key)
	if err == nil && after.Number == before.Number {
		return version, nil
	}
	if err == nil {
		err = &session.KeyError{Key: key, Err: session.ErrNotFound}
	}
	// A user's artifact with earlier versions is older than the deletion of one of their sessions: it stays.
	if !strings.HasPrefix(name, UserPrefix) || version == 0 {
		err = errors.Join(err, b.Service.Delete(ctx, key, name))
	}
	return 0, err
}
