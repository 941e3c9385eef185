package compaction

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/session"
)

// Metrics names the counters that the plugin keeps with OpenTelemetry's global meter provider, which counts
// nothing unless the program has set one.
const Metrics = "github.com/plughook/plughook/plugins/compaction"

type metrics struct {
	made     metric.Int64Counter   // plughook.compaction.made: by trigger and by whom
	declined metric.Int64Counter   // plughook.compaction.declined: by trigger and reason
	saved    metric.Int64Counter   // plughook.compaction.tokens_saved
	cost     metric.Float64Counter // plughook.compaction.cost: in the currency of the configured prices
	failures metric.Int64Counter   // plughook.compaction.summarizer_failures
}

func newMetrics() *metrics {
	m := otel.Meter(Metrics)
	whole := func(name, what string) metric.Int64Counter {
		c, err := m.Int64Counter("plughook.compaction."+name, metric.WithDescription(what))
		if err != nil {
			otel.Handle(err)
		}
		return c
	}
	cost, err := m.Float64Counter("plughook.compaction.cost", metric.WithDescription("what models cost that wrote summaries"))
	if err != nil {
		otel.Handle(err)
	}
	return &metrics{whole("made", "compactions"), whole("declined", "compactions that did not happen"), whole("tokens_saved", "tokens by which live views have become smaller"),
		cost, whole("summarizer_failures", "summaries that a model did not make")}
}

// report records what became of a compaction.
func (k *keeper) report(ctx context.Context, inv *session.Invocation, p *Plan, e *session.Event) {
	trigger := attribute.String("trigger", p.Trigger)
	if e == nil {
		k.metrics.declined.Add(ctx, 1, metric.WithAttributes(trigger, attribute.String("reason", string(p.Declined))))
		k.Log.LogAttrs(ctx, slog.LevelInfo, "not compacted", slog.String("session", inv.Key.String()), slog.String("invocation", inv.ID), slog.String("trigger", p.Trigger),
			slog.String("reason", string(p.Declined)), slog.String("why", p.Why), slog.Int("tokens", p.Before))
		return
	}
	n := noteOf(e)
	k.metrics.made.Add(ctx, 1, metric.WithAttributes(trigger, attribute.String("by", n.By)))
	k.metrics.saved.Add(ctx, int64(n.Before-n.After))
	k.metrics.cost.Add(ctx, n.Cost)
	k.Log.LogAttrs(ctx, slog.LevelInfo, "compacted", slog.String("session", inv.Key.String()), slog.String("invocation", inv.ID), slog.String("trigger", p.Trigger), slog.String("by", n.By),
		slog.Int("before", n.Before), slog.Int("after", n.After), slog.Int("events", n.Events), slog.Int64("through", p.Through), slog.Int("generation", n.Generation))
}

func (p *Plan) decline(why Decline, format string, args ...any) {
	p.Declined, p.Why = why, fmt.Sprintf(format, args...)
}

// reason is the outcome's.
func (p *Plan) reason() string {
	if p.Declined != "" {
		return fmt.Sprintf("not compacted (%s, asked for by %s): %s", p.Declined, p.Trigger, p.Why)
	}
	events := "events"
	if len(p.Covered) == 1 {
		events = "event"
	}
	return fmt.Sprintf("%s: %d %s, %d tokens to %d", p.Trigger, len(p.Covered), events, p.Before, p.After)
}

// tooLong says what to do when a prompt does not fit.
func (k *keeper) tooLong(contents, rest int, why string) string {
	return fmt.Sprintf("the prompt has %d tokens of conversation and %d of instruction and tools, and the budget is %d; %s. Send less at once, pin less, give tools' answers a limit, or raise budget (and window) to what the model takes",
		contents, rest, k.Budget, why)
}
