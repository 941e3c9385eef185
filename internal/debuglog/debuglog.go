// Package debuglog lowers the level of what a plugin logs. To lower another level, too, add it to the
// function lower.
package debuglog

import (
	"context"
	"log/slog"
)

// New returns the log with records of the level Info written as records of the level Debug. It is for plugins
// whose work a person sees already, on events or in answers: their records are for those who look for more.
func New(log *slog.Logger) *slog.Logger { return slog.New(lowered{log.Handler()}) }

type lowered struct{ slog.Handler }

func (l lowered) Enabled(ctx context.Context, level slog.Level) bool {
	return l.Handler.Enabled(ctx, lower(level))
}

func (l lowered) Handle(ctx context.Context, r slog.Record) error {
	r.Level = lower(r.Level)
	return l.Handler.Handle(ctx, r)
}

func (l lowered) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lowered{l.Handler.WithAttrs(attrs)}
}

func (l lowered) WithGroup(name string) slog.Handler { return lowered{l.Handler.WithGroup(name)} }

func lower(level slog.Level) slog.Level {
	if level == slog.LevelInfo {
		return slog.LevelDebug
	}
	return level
}
