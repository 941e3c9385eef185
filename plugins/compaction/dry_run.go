package compaction

import (
	"context"

	"github.com/plughook/plughook/session"
)

// dryRun says what the command Now would do to a session in a store: see Config.Preview.
func (c Config) dryRun(
	ctx context.Context,
	sessions session.Reader,
	key session.Key,
	command session.Command,
) (any, error) {
	inv, err := session.Snapshot(ctx, sessions, key)
	if err != nil {
		return nil, err
	}
	instructions, _ := command.Args["instructions"].(string)
	return c.Preview(ctx, inv, instructions)
}
