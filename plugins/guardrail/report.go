package guardrail

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
)

// maxFingerprints is how many fingerprints a record has at most.
const maxFingerprints = 8

// record counts a finding in a text.
func (ev *evaluation) record(stage policy.Stage, f *policy.Finding, text string) {
	switch {
	case ev.guard.Found == nil:
	case ev.approval == nil:
		ev.guard.Found(ev.inv, ev.event, stage, *f, text)
	case f.Would == policy.Block || f.Rule == pin.Rule: // the rest was told when the call was made
		ev.guard.Found(ev.inv, ev.approval, stage, *f, text)
	}
	would := f.Would
	if would == f.Action {
		would = ""
	}

	// Find the record of findings like this one.
	i := slices.IndexFunc(ev.records, func(r Record) bool {
		return r.Rule == f.Rule && r.Stage == stage && r.Type == f.Type && r.Action == f.Action &&
			r.Would == would && r.Exception == f.Exception && r.From == f.From
	})
	if i < 0 {
		i = len(ev.records)
		ev.records = append(ev.records, Record{
			Rule:   f.Rule,
			Stage:  stage,
			Type:   f.Type,
			Action: f.Action,
			Would:  would,

			Exception: f.Exception,
			From:      f.From,
		})
		ev.records[i].Severity, ev.records[i].Tags = ev.policy.Marks(f.Rule)
	}

	// Add the finding to it.
	r := &ev.records[i]
	r.Count++
	r.Length += f.End - f.Start
	if f.By == judging.By && f.Type != judging.TypeUnjudged && f.Type != judging.TypeOverBudget {
		r.Score = max(r.Score, f.Score)
	}
	mark := ev.policy.Fingerprint(f.Type, text[f.Start:f.End])
	if len(r.Fingerprints) < maxFingerprints && !slices.Contains(r.Fingerprints, mark) {
		r.Fingerprints = append(r.Fingerprints, mark)
	}
}

// found is how many findings were recorded.
func (ev *evaluation) found() (n int) {
	for _, r := range ev.records {
		n += r.Count
	}
	return n
}

// note is what stands on the event.
func (ev *evaluation) note() Note {
	return Note{Revision: ev.policy.Revision(), Release: ev.policy.Release(), Records: ev.records}
}

// reason says which rules have decided, for the log.
func (ev *evaluation) reason() string {
	var said []string
	for _, r := range ev.records {
		what := fmt.Sprintf("%s: %s %s", r.Rule, r.Action, r.Type)
		if r.Would != "" {
			what = fmt.Sprintf("%s: would %s %s", r.Rule, r.Would, r.Type)
		}
		if r.Exception != "" {
			what += " (exception: " + r.Exception + ")"
		}
		if r.From != "" {
			what += " (from event " + r.From + ")"
		}
		if r.Count > 1 {
			what += fmt.Sprintf(" (%d)", r.Count)
		}
		said = append(said, what)
	}
	return strings.Join(said, "; ")
}

// report writes log records and counts what became of something: event is its id, "" of a request.
func (g *guard) report(ctx context.Context, ev *evaluation, event string) {
	took := time.Since(ev.began)
	g.decisions.write(ev, event)
	g.metrics.duration.Record(ctx, took.Seconds())
	for _, r := range ev.records {
		mode := "enforce"
		if r.Would != "" {
			mode = "shadow"
		}
		counted := []attribute.KeyValue{
			attribute.String("rule", r.Rule),
			attribute.String("stage", string(r.Stage)),
			attribute.String("action", string(r.Action)),
			attribute.String("mode", mode),
		}
		if r.Severity != "" {
			counted = append(counted, attribute.String("severity", r.Severity))
		}
		g.metrics.decisions.Add(ctx, 1, metric.WithAttributes(counted...))
		attrs := append(ev.attrs(event),
			slog.String("rule", r.Rule),
			slog.String("stage", string(r.Stage)),
			slog.String("type", r.Type),
			slog.String("action", string(r.Action)),
		)
		if r.Would != "" {
			attrs = append(attrs, slog.String("would_action", string(r.Would)))
		}
		if r.Severity != "" {
			attrs = append(attrs, slog.String("severity", r.Severity))
		}
		if len(r.Tags) > 0 {
			attrs = append(attrs, slog.Any("tags", r.Tags))
		}
		if r.Exception != "" {
			attrs = append(attrs, slog.String("exception", r.Exception))
		}
		if r.From != "" {
			attrs = append(attrs, slog.String("from", r.From))
		}
		attrs = append(attrs,
			slog.Int("count", r.Count),
			slog.Int("length", r.Length),
			slog.Any("fingerprints", r.Fingerprints),
			slog.Duration("took", took),
		)
		g.Log.LogAttrs(ctx, g.Level, "guardrail", attrs...)
	}
	if ev.err != nil {
		g.metrics.errors.Add(ctx, 1)
		attrs := append(ev.attrs(event), slog.String("error", ev.err.Error()),
			slog.String("on_error", string(ev.policy.OnError())))
		g.Log.LogAttrs(ctx, slog.LevelError, "guardrail: a text could not be judged", attrs...)
	}
}

// attrs are what log records say of the event.
func (ev *evaluation) attrs(event string) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("session", ev.inv.Key.String()),
		slog.String("invocation", ev.inv.ID),
		slog.String("event", event),
		slog.String("revision", ev.policy.Revision()),
	}
	if release := ev.policy.Release(); release != "" {
		attrs = append(attrs, slog.String("release", release))
	}
	return attrs
}
