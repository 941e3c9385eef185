package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/plughook/plughook/session"
)

// Run runs agent a for another agent. The events of a get the host's branch, and a's name as their
// author if they have none. Run reports whether the caller may continue: it must not after an
// error, or after yield has returned false.
func Run(ctx context.Context, a Agent, host *Host, yield func(*session.Event, error) bool) bool {
	for e, err := range a.Run(ctx, host) {
		if e != nil && (e.Author == "" || e.Branch == "") {
			named := *e
			if named.Author == "" {
				named.Author = a.Name()
			}
			if named.Branch == "" {
				named.Branch = host.Branch
			}
			e = &named
		}
		if err != nil && !errors.Is(err, ErrEnded) && ctx.Err() == nil {
			err = fmt.Errorf("agent %s: %w", a.Name(), err)
		}
		if !yield(e, err) || err != nil {
			return false
		}
	}
	return ctx.Err() == nil
}
