package limits

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/internal/telemetry"
)

// MetricsType is the Content-Type of what WriteMetrics writes.
const MetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// A family is a metric with its values.
type family struct {
	name    string // as in OpenMetrics, such as plughook_refused
	what    string // a sentence
	counter bool   // it only grows
	label   string // the name of the label that tells the values apart; "" if there is one value
	values  []value
}

// A value is one value of a metric.
type value struct {
	of string // the label's value
	n  float64
}

// families returns how much of each limit is in use, the limits, and what was refused. Users have no names there:
// of what users may have, it is the most that one of them has.
func (p *Process) families() []family {
	p.mu.Lock()
	used := p.used
	var most [kinds]int64
	for _, u := range p.users {
		for k := range most {
			most[k] = max(most[k], u.used[k])
		}
	}
	refused := family{name: "plughook_refused", what: "What a limit has refused.", counter: true, label: "limit"}
	for _, row := range Table {
		if row.Code != "" {
			refused.values = append(refused.values, value{row.Key, float64(p.refused[row])})
		}
	}
	p.mu.Unlock()

	var all []family
	inUse := func(row *Row, n int64) {
		if row != nil {
			all = append(all, family{
				name:   row.Metric,
				what:   "How much is in use: " + row.What + ".",
				values: []value{{n: float64(n)}},
			})
		}
	}
	for k, rows := range bounds {
		inUse(rows.process, used[k])
		inUse(rows.user, most[k])
	}
	bound := family{
		name:  "plughook_limit",
		what:  "The limits, in bytes, seconds or things, but for those that are off.",
		label: "limit",
	}
	for _, row := range Table {
		n := float64(row.value(&p.Limits))
		if row.isTime() {
			n /= 1e9
		}
		if n != 0 {
			bound.values = append(bound.values, value{row.Key, n})
		}
	}
	return append(all, bound, refused, family{
		name:    "plughook_notices",
		what:    "Messages about runs that were sent, attempts that failed, and messages that were given up.",
		counter: true,
		label:   "result",
		values: []value{
			{"sent", float64(p.Notices.Sent.Load())},
			{"failed", float64(p.Notices.Failed.Load())},
			{"given_up", float64(p.Notices.GivenUp.Load())},
		},
	})
}

// WriteMetrics writes the metrics in the form of OpenMetrics (https://github.com/prometheus/OpenMetrics).
func (p *Process) WriteMetrics(w io.Writer) error {
	var text strings.Builder
	for _, f := range p.families() {
		kind, name := "gauge", f.name
		if f.counter {
			kind, name = "counter", f.name+"_total"
		}
		fmt.Fprintf(&text, "# TYPE %s %s\n# HELP %[1]s %[3]s\n", f.name, kind, f.what)
		for _, v := range f.values {
			labels := ""
			if f.label != "" {
				labels = fmt.Sprintf("{%s=%q}", f.label, v.of)
			}
			fmt.Fprintf(&text, "%s%s %s\n", name, labels, strconv.FormatFloat(v.n, 'f', -1, 64))
		}
	}
	text.WriteString("# EOF\n")
	_, err := io.WriteString(w, text.String())
	return err
}

// Observe gives the metrics to OpenTelemetry's global provider, until stop is called. Their names have dots in place of
// underscores. Without a provider it costs nothing.
func (p *Process) Observe() (stop func() error, err error) {
	meter := otel.Meter(telemetry.Scope)
	instruments := map[string]metric.Float64Observable{}
	var all []metric.Observable
	for _, f := range p.families() {
		var made metric.Float64Observable
		name := strings.ReplaceAll(f.name, "_", ".")
		if f.counter {
			made, err = meter.Float64ObservableCounter(name, metric.WithDescription(f.what))
		} else {
			made, err = meter.Float64ObservableGauge(name, metric.WithDescription(f.what))
		}
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
		instruments[f.name] = made
		all = append(all, made)
	}
	read := func(_ context.Context, o metric.Observer) error {
		for _, f := range p.families() {
			for _, v := range f.values {
				if f.label == "" {
					o.ObserveFloat64(instruments[f.name], v.n)
					continue
				}
				o.ObserveFloat64(instruments[f.name], v.n, metric.WithAttributes(attribute.String(f.label, v.of)))
			}
		}
		return nil
	}
	registered, err := meter.RegisterCallback(read, all...)
	if err != nil {
		return nil, fmt.Errorf("metrics of the limits: %w", err)
	}
	return registered.Unregister, nil
}
