package guardrail

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// spawn runs something on a goroutine that Close waits for.
func (j *judges) spawn(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begins(f)
}

// begins is spawn. The lock is held.
func (j *judges) begins(f func()) {
	if j.busy++; j.busy == 1 {
		j.idle = make(chan struct{})
	}
	go func() {
		defer func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.busy--; j.busy == 0 {
				close(j.idle)
			}
		}()
		f()
	}()
}

// close waits for what is asked, rules in shadow among it, until the context is done, and cancels it then.
func (j *judges) close(ctx context.Context) error {
	defer j.client.CloseIdleConnections()
	defer j.cancel()
	j.mu.Lock()
	busy, idle := j.busy > 0, j.idle
	j.mu.Unlock()
	if !busy {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return fmt.Errorf("guardrail: the judges of these rules have not come back in time: %s", strings.Join(slices.Sorted(maps.Keys(j.names)), ", "))
}
