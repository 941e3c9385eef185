package compaction

import (
	"context"
	"encoding/json"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/session"
)

// noteKey is the key of a note in the CustomMetadata of a compaction's event.
const noteKey = "compaction"

// A note is what the event of a compaction says about it. It contains no text, so what a later plugin removes from the
// summary is nowhere else in the event.
type note struct {
	// Trigger is why the compaction was made; By is "offline", or the model that wrote the summary.
	Trigger string `json:"trigger"`
	By      string `json:"by"`
	// Before and After are the tokens of the live view; Events is how many were covered, without the summary before;
	// Generation is 1 for the first summary, 2 for a summary of a summary.
	Before     int `json:"before"`
	After      int `json:"after"`
	Events     int `json:"events"`
	Generation int `json:"generation"`
	// Cost is what the model cost, in the currency of the prices that it was computed with.
	Cost float64 `json:"cost,omitzero"`
	// Factor is the meter's reported; Beside is the meter's without the scale.
	Factor float64 `json:"factor,omitzero"`
	Beside int     `json:"beside,omitzero"`
	// Scale and Lessons are those of the meter, with what a refused prompt has taught that this compaction is made for.
	Scale   float64 `json:"scale,omitzero"`
	Lessons int     `json:"lessons,omitzero"`
	// Cleared are the parts of events that stay for which the prompt has a line, as pairs of a position and the index of
	// the part; Saved are those that are artifacts, too; Hidden are the positions of calls that wait for an answer and are not in the prompt.
	Cleared places  `json:"cleared,omitzero"`
	Saved   places  `json:"saved,omitzero"`
	Hidden  []int64 `json:"hidden,omitzero"`
	// Sections are the states of package extract, one for each part of the content.
	Sections []any `json:"sections,omitzero"`
}

// value returns the note as JSON values.
func (n *note) value() map[string]any { return jsonOf(n).(map[string]any) }

// headNote returns the note of the summary that heads a view, nil if there is none that can be read.
func headNote(live []*session.Event) *note {
	if len(live) == 0 || !live[0].Marker() {
		return nil
	}
	return noteIn(live[0])
}

// noteOf returns the note of an event of this plugin, nil if there is none that can be read.
func noteOf(e *session.Event) *note {
	if e.CustomMetadata == nil || e.Author != session.PluginPrefix+Name {
		return nil
	}
	return noteIn(e)
}

func noteIn(e *session.Event) *note {
	v, ok := e.CustomMetadata[noteKey].(map[string]any)
	if !ok {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	n := new(note)
	if err := json.Unmarshal(data, n); err != nil {
		return nil
	}
	return n
}

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
	meter := otel.Meter(meterName)
	counter := func(name, description string) metric.Int64Counter {
		c, err := meter.Int64Counter("plughook.compaction."+name, metric.WithDescription(description))
		if err != nil {
			otel.Handle(err)
		}
		return c
	}
	cost, err := meter.Float64Counter("plughook.compaction.cost", metric.WithDescription("cost of the models that wrote summaries"))
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
	if k.Keep.any() && p.Pinned > k.Keep.Tokens/2 {
		k.Log.LogAttrs(ctx, slog.LevelWarn, "keep names much: beyond keep.tokens, the oldest of it is only in the summary, with its first lines",
			slog.String("session", inv.Key.String()),
			slog.Int("tokens", p.Pinned),
			slog.Int("keep.tokens", k.Keep.Tokens))
	}
	n := noteIn(e)
	if e.Actions.Compaction == nil {
		attrs = append(attrs,
			slog.Int("before", n.Before),
			slog.Int("after", n.After),
			slog.Int("results", p.cleared),
			slog.Int("calls", p.hidden))
		k.Log.LogAttrs(ctx, slog.LevelInfo, "cleared", attrs...)
		return
	}
	k.metrics.made.Add(ctx, 1, metric.WithAttributes(trigger, attribute.String("by", n.By)))
	k.metrics.saved.Add(ctx, int64(n.Before-n.After))
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
