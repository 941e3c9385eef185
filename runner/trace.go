package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// A HookCall is one call of a plugin's hook.
type HookCall struct {
	Plugin     string
	Hook       plugin.Hook
	Key        session.Key
	Invocation string
	// Event is the event at hand as it was before, nil outside of OnEvent.
	Event    *session.Event
	Outcome  plugin.Outcome
	Err      error
	Duration time.Duration
}

// report tells the trace and the log of a hook call.
func (x *Runner) report(ctx context.Context, c HookCall) {
	x.trace(c)
	if !x.opt.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("plugin", c.Plugin),
		slog.String("hook", string(c.Hook)),
		slog.String("session", c.Key.String()),
		slog.String("invocation", c.Invocation),
		slog.Duration("duration", c.Duration),
	}
	if c.Event != nil {
		attrs = append(attrs, slog.String("event", c.Event.ID))
	}
	for _, did := range c.Did() {
		attrs = append(attrs, slog.Bool(did, true))
	}
	if c.Outcome.Reason != "" {
		attrs = append(attrs, slog.String("reason", c.Outcome.Reason))
	}
	if c.Err != nil {
		attrs = append(attrs, slog.Any("error", c.Err))
	}
	x.opt.Log.LogAttrs(ctx, slog.LevelDebug, "hook", attrs...)
}

// trace tells Options.Trace. A panic in it is logged and fails no run.
func (x *Runner) trace(c HookCall) {
	if x.opt.Trace == nil {
		return
	}
	defer func() {
		if err := plugin.Recovered(recover()); err != nil {
			panicked.Log(x.opt.Log, "Options.Trace panicked", err, "plugin", c.Plugin, "hook", c.Hook, "invocation", c.Invocation)
		}
	}()
	x.opt.Trace(c)
}

// tell tells OpenTelemetry.
func (c HookCall) tell(ctx context.Context, began time.Time) {
	h := telemetry.Hook{
		Plugin:  c.Plugin,
		Hook:    string(c.Hook),
		Did:     c.Did(),
		Reason:  c.Outcome.Reason,
		Failure: telemetry.Failure(c.Err),
		Began:   began,
	}
	if c.Event != nil {
		h.Event = c.Event.ID
	}
	h.Tell(ctx)
}

// Did lists in words what the hook asked for: "replaced", "emitted", "withheld", "stopped",
// "unchecked" and "failed". It is empty if it asked nothing.
func (c HookCall) Did() []string {
	var did []string
	for _, d := range []struct {
		what string
		is   bool
	}{
		{"replaced", c.Outcome.Replace != nil},
		{"withheld", c.Outcome.Withhold},
		{"emitted", len(c.Outcome.Emit) > 0},
		{"stopped", c.Outcome.Stop},
		{"unchecked", c.Outcome.Unchecked != ""},
		{"failed", c.Err != nil},
	} {
		if d.is {
			did = append(did, d.what)
		}
	}
	return did
}
