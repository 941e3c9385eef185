package web

import (
	"context"

	"github.com/plughook/plughook/session"
)

// DeleteSession deletes a session and its files, the user's own files excepted.
func DeleteSession(ctx context.Context, app *App, key session.Key) error {
	if err := app.Sessions.Delete(ctx, key); err != nil {
		return err
	}
	return nil
}
