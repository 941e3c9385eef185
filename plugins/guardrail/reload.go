package guardrail

import (
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// stamp tells one state of a file from another.
type stamp struct {
	size int64
	time time.Time
}

// stampOf returns the stamp of a file, the zero stamp if there is none.
func stampOf(file string) stamp {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	return stamp{size: info.Size(), time: info.ModTime()}
}

// reload reads the policy's file if it has changed. A file that is wrong, or gone, leaves the
// policy before it in force. The log says once what is wrong, and with each run that it still is.
// Runs that have begun keep their policy. One run reads at a time, so that no older policy replaces
// a newer one; runs that begin meanwhile do not wait, and get the one in force.
func (g *guard) reload() {
	if !g.Reload || !g.reading.TryLock() {
		return
	}
	defer g.reading.Unlock()
	now := stampOf(g.File)
	same := now == g.read
	g.read = now
	if same {
		if g.stale {
			g.Log.Warn("guardrail: the policy's file is wrong, or gone; the policy before it is in force",
				slog.String("file", g.File),
				slog.String("revision", g.policy.Load().Revision()),
			)
		}
		return
	}
	p, err := policy.Load(g.File)
	before := g.policy.Load().Revision()
	if err == nil {
		err = g.use(p)
	}
	g.stale = err != nil
	g.metrics.reloads.Add(context.Background(), 1,
		metric.WithAttributes(attribute.Bool("ok", err == nil)))
	if err != nil {
		g.Log.Error("guardrail: the policy was not reloaded; the one before it stays in force",
			slog.String("file", g.File),
			slog.String("revision", before),
			slog.String("error", err.Error()),
		)
		return
	}
	g.Log.Info("guardrail: the policy was reloaded",
		slog.String("file", g.File),
		slog.String("before", before),
		slog.String("revision", p.Revision()),
	)
}
