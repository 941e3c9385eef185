package guardrail

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/plugins/guardrail/internal/judge"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// Key is the key in an event's CustomMetadata under which the plugin notes what it made of the
// event: the policy's revision, and records.
const Key = "guardrail"

// A Record says what a rule did, or in shadow would have done, at a stage of one event. It has
// nothing of the text.
type Record struct {
	Rule   string        `json:"rule"`
	Stage  policy.Stage  `json:"stage"`
	Type   string        `json:"type"`
	Action policy.Action `json:"action"`
	// Would is what the action would be out of shadow; empty if it is that.
	Would policy.Action `json:"would_action,omitempty"`
	// Count is how often it was found, Length how many bytes that is together.
	Count  int `json:"count"`
	Length int `json:"length"`
	// Score is the highest score that a judge has given, 0 if the rule has no judge.
	Score float64 `json:"score,omitempty"`
	// Fingerprints are keyed: equal ones are of equal values. There are at most eight.
	Fingerprints []string `json:"fingerprints,omitempty"`
}

// A Note is what stands under Key.
type Note struct {
	Revision string   `json:"revision"`
	Release  string   `json:"release,omitempty"`
	Records  []Record `json:"records"`
	// Shown stands on a question to a human: by the ids of calls, the declaration of each one's tool that
	// the human was shown because it is not the one that is pinned (policy.Unpinned.Digest).
	Shown map[string]string `json:"shown,omitempty"`
}

// NoteOf returns the note on an event, if there is one. Whoever can write an event's metadata can
// write it, so it counts only as far as the log can be trusted.
func NoteOf(e *session.Event) (n Note, ok bool) {
	value, ok := e.CustomMetadata[Key]
	if !ok {
		return n, false
	}
	data, err := json.Marshal(value)
	if err != nil || json.Unmarshal(data, &n) != nil {
		return Note{}, false
	}
	return n, true
}

// value returns the note as it is once it was written and read as JSON.
func (n Note) value() any {
	data, err := json.Marshal(n)
	var value any
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	if err != nil {
		panic(err) // a note has only what JSON can hold
	}
	return value
}

// maxFingerprints is how many fingerprints a record has at most.
const maxFingerprints = 8

// record counts a finding in a text.
func (ev *evaluation) record(stage policy.Stage, f *policy.Finding, text string) {
	if ev.guard.Found != nil {
		ev.guard.Found(ev.inv, ev.event, stage, *f, text)
	}
	would := f.Would
	if would == f.Action {
		would = ""
	}

	// Find the record of findings like this one.
	i := slices.IndexFunc(ev.records, func(r Record) bool {
		return r.Rule == f.Rule && r.Stage == stage && r.Type == f.Type && r.Action == f.Action &&
			r.Would == would
	})
	if i < 0 {
		i = len(ev.records)
		ev.records = append(ev.records, Record{
			Rule:   f.Rule,
			Stage:  stage,
			Type:   f.Type,
			Action: f.Action,
			Would:  would,
		})
	}

	// Add the finding to it.
	r := &ev.records[i]
	r.Count++
	r.Length += f.End - f.Start
	if f.By == policy.ByJudge && f.Type != policy.TypeUnjudged && f.Type != policy.TypeOverBudget {
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
		if r.Count > 1 {
			what += fmt.Sprintf(" (%d)", r.Count)
		}
		said = append(said, what)
	}
	return strings.Join(said, "; ")
}

// metrics are the instruments that the plugin keeps with OpenTelemetry's global meter provider,
// which counts nothing unless the program has set one.
type metrics struct {
	decisions metric.Int64Counter     // plughook.guardrail.decisions: by rule, stage, action and mode
	duration  metric.Float64Histogram // plughook.guardrail.duration: seconds an event, with a finding
	errors    metric.Int64Counter     // plughook.guardrail.errors: texts that could not be judged
	reloads   metric.Int64Counter     // plughook.guardrail.reloads: by whether they succeeded
	judges    judge.Metrics           // plughook.guardrail.judge.duration and plughook.guardrail.judge.tokens
}

func newMetrics() *metrics {
	m := otel.Meter("github.com/plughook/plughook/plugins/guardrail")
	count := func(name, what string) metric.Int64Counter {
		c, err := m.Int64Counter("plughook.guardrail."+name, metric.WithDescription(what))
		if err != nil {
			otel.Handle(err)
		}
		return c
	}
	seconds := func(name, what string) metric.Float64Histogram {
		h, err := m.Float64Histogram("plughook.guardrail."+name, metric.WithUnit("s"),
			metric.WithDescription(what))
		if err != nil {
			otel.Handle(err)
		}
		return h
	}
	return &metrics{
		decisions: count("decisions", "what rules decided"),
		duration:  seconds("duration", "how long it took to judge an event in which something was found"),
		errors:    count("errors", "texts that could not be judged"),
		reloads:   count("reloads", "reloads of the policy"),
		judges: judge.Metrics{
			Duration: seconds("judge.duration", "how long a judge took to answer"),
			Tokens:   count("judge.tokens", "tokens that models have used to judge"),
		},
	}
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
		g.metrics.decisions.Add(ctx, 1, metric.WithAttributes(
			attribute.String("rule", r.Rule),
			attribute.String("stage", string(r.Stage)),
			attribute.String("action", string(r.Action)),
			attribute.String("mode", mode),
		))
		attrs := append(ev.attrs(event),
			slog.String("rule", r.Rule),
			slog.String("stage", string(r.Stage)),
			slog.String("type", r.Type),
			slog.String("action", string(r.Action)),
		)
		if r.Would != "" {
			attrs = append(attrs, slog.String("would_action", string(r.Would)))
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
