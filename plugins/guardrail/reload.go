package guardrail

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// reload reads the policy again if it has changed. One that is wrong, or gone, leaves the policy before
// it in force. The log says once what is wrong, and with each look that it still is. Runs that have begun
// keep their policy. One run reads at a time, so that no older policy replaces a newer one; runs that
// begin meanwhile do not wait, and get the one in force. No run waits for an address: it is asked on a
// goroutine that Close waits for, and at most every half minute.
func (g *guard) reload() {
	if !g.Reload || !g.reading.TryLock() {
		return
	}
	if !g.from.remote {
		defer g.reading.Unlock()
		p, err := g.from.read(context.Background())
		g.take(p, err)
		return
	}
	now := g.Now()
	if now.Sub(g.from.asked) < askEvery {
		g.reading.Unlock()
		return
	}
	g.from.asked = now
	g.judges.Go(func() {
		defer g.reading.Unlock()
		p, err := g.from.read(g.judges.Context())
		g.take(p, err)
	})
}

// take puts a policy in force that was read again, nil if it was not changed.
func (g *guard) take(p *policy.Policy, err error) {
	before := g.policy.Load()
	attrs := []any{
		slog.String("file", g.File),
		slog.String("revision", before.Revision()),
		slog.String("release", before.Release()),
	}
	if p == nil && err == nil {
		if g.stale {
			g.Log.Warn("guardrail: the policy's file is wrong, or gone; the policy before it is in force", attrs...)
		}
		return
	}
	if err == nil {
		err = g.use(p)
	}
	g.stale = err != nil
	g.metrics.reloads.Add(context.Background(), 1,
		metric.WithAttributes(attribute.Bool("ok", err == nil)))
	if err != nil {
		g.Log.Error("guardrail: the policy was not reloaded; the one before it stays in force",
			append(attrs, slog.String("error", err.Error()))...)
		return
	}
	g.Log.Info("guardrail: the policy was reloaded",
		slog.String("file", g.File),
		slog.String("before", before.Revision()),
		slog.String("revision", p.Revision()),
		slog.String("release", p.Release()),
	)
}
