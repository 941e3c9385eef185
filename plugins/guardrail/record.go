package guardrail

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/session"
)

// Key is the key in an event's CustomMetadata under which the plugin notes what it made of the event: the policy's
// revision, and records.
const Key = "guardrail"

// A Record says what a rule did, or in shadow would have done, at a stage of one event. It has nothing of the text.
type Record struct {
	Rule   string `json:"rule"`
	Stage  Stage  `json:"stage"`
	Type   string `json:"type"`
	Action Action `json:"action"`
	// Would is what the action would be out of shadow; empty if it is that.
	Would Action `json:"would_action,omitempty"`
	// Count is how often it was found, Length how many bytes that is together.
	Count  int `json:"count"`
	Length int `json:"length"`
	// Score is the highest that a judge has given, 0 if the rule has none.
	Score float64 `json:"score,omitempty"`
	// Fingerprints are keyed: equal ones are of equal values. There are at most eight.
	Fingerprints []string `json:"fingerprints,omitempty"`
}

// A Note is what stands under Key.
type Note struct {
	Revision string   `json:"revision"`
	Records  []Record `json:"records"`
}

// NoteOf returns the note on an event, if there is one. Whoever can write an event's metadata can write it, so it counts
// only as far as the log can be trusted.
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

// value returns the note as JSON is once it was read.
func (n Note) value() any {
	data, err := json.Marshal(n)
	var value any
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	if err != nil {
		panic(err) // it has texts and numbers only
	}
	return value
}

const maxFingerprints = 8

// record counts a finding.
func (j *judgment) record(stage Stage, f *Finding, text string) {
	would := f.Would
	if would == f.Action {
		would = ""
	}
	same := func(r Record) bool {
		return r.Rule == f.Rule && r.Stage == stage && r.Type == f.Type && r.Action == f.Action && r.Would == would
	}
	i := slices.IndexFunc(j.records, same)
	if i < 0 {
		i = len(j.records)
		j.records = append(j.records, Record{Rule: f.Rule, Stage: stage, Type: f.Type, Action: f.Action, Would: would})
	}
	r := &j.records[i]
	r.Count++
	r.Length += f.End - f.Start
	if f.By == byJudge {
		r.Score = max(r.Score, f.Score)
	}
	if mark := j.policy.keys.fingerprint(f.Type, text[f.Start:f.End]); len(r.Fingerprints) < maxFingerprints && !slices.Contains(r.Fingerprints, mark) {
		r.Fingerprints = append(r.Fingerprints, mark)
	}
}

// found is how much was found, together.
func (j *judgment) found() (n int) {
	for _, r := range j.records {
		n += r.Count
	}
	return n
}

func (j *judgment) note() Note { return Note{j.policy.revision, j.records} }

// metrics are the instruments that the plugin keeps with OpenTelemetry's global meter provider, which counts nothing
// unless the program has set one.
type metrics struct {
	decisions metric.Int64Counter     // plughook.guardrail.decisions: by rule, stage, action and mode
	duration  metric.Float64Histogram // plughook.guardrail.duration: seconds an event, with a finding
	errors    metric.Int64Counter     // plughook.guardrail.errors: texts that could not be judged
	reloads   metric.Int64Counter     // plughook.guardrail.reloads: by whether they succeeded
	asked     metric.Float64Histogram // plughook.guardrail.judge.duration: seconds a question, by rule and answer: clean, flagged or error
	tokens    metric.Int64Counter     // plughook.guardrail.judge.tokens: that models have used to judge, by rule
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
		h, err := m.Float64Histogram("plughook.guardrail."+name, metric.WithUnit("s"), metric.WithDescription(what))
		if err != nil {
			otel.Handle(err)
		}
		return h
	}
	return &metrics{decisions: count("decisions", "what rules decided"), duration: seconds("duration", "how long it took to judge an event in which something was found"),
		errors: count("errors", "texts that could not be judged"), reloads: count("reloads", "reloads of the policy"),
		asked: seconds("judge.duration", "how long a judge took to answer"), tokens: count("judge.tokens", "tokens that models have used to judge")}
}

// report writes the records of what became of something: event is its id, "" of a request.
func (g *guard) report(ctx context.Context, j *judgment, event string) {
	took := time.Since(j.began)
	g.metrics.duration.Record(ctx, took.Seconds())
	at := []slog.Attr{slog.String("session", j.inv.Key.String()), slog.String("invocation", j.inv.ID), slog.String("event", event), slog.String("revision", j.policy.revision)}
	for _, r := range j.records {
		mode := "enforce"
		if r.Would != "" {
			mode = "shadow"
		}
		g.metrics.decisions.Add(ctx, 1, metric.WithAttributes(attribute.String("rule", r.Rule), attribute.String("stage", string(r.Stage)),
			attribute.String("action", string(r.Action)), attribute.String("mode", mode)))
		said := append(slices.Clone(at), slog.String("rule", r.Rule), slog.String("stage", string(r.Stage)), slog.String("type", r.Type), slog.String("action", string(r.Action)))
		if r.Would != "" {
			said = append(said, slog.String("would_action", string(r.Would)))
		}
		g.Log.LogAttrs(ctx, slog.LevelInfo, "guardrail", append(said, slog.Int("count", r.Count), slog.Int("length", r.Length), slog.Any("fingerprints", r.Fingerprints), slog.Duration("took", took))...)
	}
	if j.err != nil {
		g.metrics.errors.Add(ctx, 1)
		g.Log.LogAttrs(ctx, slog.LevelError, "guardrail: a text could not be judged", append(at, slog.String("error", j.err.Error()), slog.String("on_error", string(j.policy.onError)))...)
	}
}
