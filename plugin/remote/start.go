package remote

import (
	"context"
	"log/slog"

	"github.com/plughook/plughook/plugin"
)

// Start starts a plugin's process, or attaches to one, and returns a plugin like any other, whose Close ends the process.
// It is Open for those who need no more than that; what Host says of a plugin holds for this one too.
func Start(ctx context.Context, c Config) (*plugin.Plugin, error) {
	h, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.Plugin(), nil
}

// Open starts a plugin's process, or attaches to one, and returns its host. It returns once the plugin has taken its
// settings and can be called; ctx is for that time only.
func Open(ctx context.Context, c Config) (*Host, error) { return openHost(ctx, c, startProcess) }

func startProcess(ctx context.Context, c Config, log *slog.Logger) (*launched, error) {
	p, err := start(ctx, c, log)
	if err != nil {
		return nil, err
	}
	return &launched{p.conn, p.about, p.sub, p.pid, func() bool { return traced(p.pid) }, p.stop}, nil
}
