package compaction

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
)

// meterName names the plugin's counters at OpenTelemetry's global meter provider.
const meterName = "github.com/plughook/plughook/plugins/compaction"

type metrics struct {
	made     metric.Int64Counter   // plughook.compaction.made, by trigger and author
	declined metric.Int64Counter   // plughook.compaction.declined, by trigger and reason
	saved    metric.Int64Counter   // plughook.compaction.tokens_saved
	cost     metric.Float64Counter // plughook.compaction.cost, in the currency of the prices
	failures metric.Int64Counter   // plughook.compaction.summarizer_failures
}

func newMetrics() *metrics {
	counters := otel.Meter(meterName)
	counter := func(name, description string) metric.Int64Counter {
		c, err := counters.Int64Counter("plughook.compaction."+name, metric.WithDescription(description))
		if err != nil {
			otel.Handle(err)
		}
		return c
	}
	cost, err := counters.Float64Counter("plughook.compaction.cost",
		metric.WithDescription("cost of the models that wrote summaries"))
	if err != nil {
		otel.Handle(err)
	}
	return &metrics{
		made:     counter("made", "compactions"),
		declined: counter("declined", "compactions that did not happen"),
		saved:    counter("tokens_saved", "tokens that summaries have saved in live views"),
		cost:     cost,
		failures: counter("summarizer_failures", "attempts of the summarizer that failed"),
	}
}

// report logs and counts a compaction, or why there is none if e is nil.
func (k *compactor) report(ctx context.Context, inv *session.Invocation, p *Plan, e *session.Event) {
	trigger := attribute.String("trigger", p.Trigger)
	attrs := []slog.Attr{
		slog.String("session", inv.Key.String()),
		slog.String("invocation", inv.ID),
		slog.String("trigger", p.Trigger),
	}
	if e == nil {
		k.metrics.declined.Add(ctx, 1, metric.WithAttributes(trigger, attribute.String("reason", p.Declined)))
		attrs = append(attrs,
			slog.String("reason", p.Declined),
			slog.String("why", p.Why),
			slog.Int("tokens", p.Before))
		k.Log.LogAttrs(ctx, slog.LevelInfo, "not compacted", attrs...)
		return
	}
	if k.Keep.Any() && p.Pinned > k.Keep.Tokens/2 {
		k.Log.LogAttrs(
			ctx,
			slog.LevelWarn,
			"keep names much: beyond keep.tokens, the oldest of it is only in the summary, with its first lines",
			slog.String("session", inv.Key.String()),
			slog.Int("tokens", p.Pinned),
			slog.Int("keep.tokens", k.Keep.Tokens),
		)
	}
	n := meter.ReadNote(e)
	if e.Actions.Compaction == nil {
		attrs = append(attrs,
			slog.Int("before", n.Before),
			slog.Int("after", n.After),
			slog.Int("results", p.Cleared),
			slog.Int("calls", p.Hidden))
		k.Log.LogAttrs(ctx, slog.LevelInfo, "cleared", attrs...)
		return
	}
	k.metrics.made.Add(ctx, 1, metric.WithAttributes(trigger, attribute.String("by", n.By)))
	k.metrics.saved.Add(ctx, int64(max(0, n.Before-n.After)))
	k.metrics.cost.Add(ctx, n.Cost)
	attrs = append(attrs,
		slog.String("by", n.By),
		slog.Int("before", n.Before),
		slog.Int("after", n.After),
		slog.Int("events", n.Events),
		slog.Int64("through", p.Through),
		slog.Int("generation", n.Generation))
	k.Log.LogAttrs(ctx, slog.LevelInfo, "compacted", attrs...)
}
