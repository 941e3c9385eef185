//go:build unix

package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
)

func checkKilled(ctx context.Context, c target) error {
	h, err := remote.Open(ctx, c.Config)
	if err != nil {
		return err
	}
	p := h.Plugin()
	defer func() { _ = p.Close(ctx) }()
	all := moments(p, testKey)
	if len(all) == 0 {
		return skipped("its filter selects nothing of a conversation")
	}
	for i, m := range all {
		if i == len(all)/2 {
			was := h.Health()
			if err := unix.Kill(was.PID, unix.SIGKILL); err != nil {
				return err
			}
			if err := replaced(ctx, h, was); err != nil {
				return err
			}
		}
		if err := callMoment(ctx, p, m); errors.Is(err, remote.ErrGone) || errors.Is(err, plugin.ErrPanic) {
			return fmt.Errorf("call %d of %d, the process was killed before call %d: %w", i+1, len(all), len(all)/2+1, err)
		}
	}
	return nil
}

// replaced waits until another process serves.
func replaced(ctx context.Context, h *remote.Host, was remote.Health) error {
	for late := time.Now().Add(endLimit); time.Now().Before(late) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		switch now := h.Health(); {
		case now.State == remote.Quarantined:
			return fmt.Errorf("it is not replaced: %s", now.LastError)
		case now.State == remote.Ready && now.Restarts > was.Restarts:
			return nil
		}
	}
	return fmt.Errorf("it was killed, and is not replaced after %v: %s", endLimit, h.Health().LastError)
}

// callMoment calls the hook that a moment is about.
func callMoment(ctx context.Context, p *plugin.Plugin, m moment) (err error) {
	if m.Request != nil {
		m.Request = m.Request.Clone()
	}
	_, err = p.Call(ctx, m.inv, m.Args)
	return err
}
