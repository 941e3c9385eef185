package guardrail

import (
	"encoding/json"

	"go.opentelemetry.io/otel"
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
	// Severity and Tags are those of the rule.
	Severity string   `json:"severity,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	// Would is what the action would be out of shadow; empty if it is that.
	Would policy.Action `json:"would_action,omitempty"`
	// Exception is why it passes though the rule finds it: values, domains or patterns of the key allow.
	Exception string `json:"exception,omitempty"`
	// From is the event from which the data came, if the rule is about a flow.
	From string `json:"from,omitempty"`
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
	// the human was shown because it is not the one that is pinned (pin.Tool.Digest).
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
