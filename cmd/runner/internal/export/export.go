// Package export sends the spans and metrics of package telemetry where OpenTelemetry's variables say: OTLP over
// HTTP, or standard error.
//
// A new exporter: a case in spans and in readings, and a row in docs/telemetry.md.
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// flushTime bounds how long the end of the program waits for a collector.
const flushTime = 3 * time.Second

// A settings reads the variables of one signal: TRACES or METRICS.
type settings struct {
	signal string
	get    func(string) string
}

// exporter returns which exporter is wanted, "none" if none is.
func (s settings) exporter() (string, error) {
	if off, _ := strconv.ParseBool(s.get("OTEL_SDK_DISABLED")); off {
		return "none", nil
	}
	name := s.get("OTEL_" + s.signal + "_EXPORTER")
	if name == "" && s.otlp("ENDPOINT") != "" {
		name = "otlp"
	}
	switch name {
	case "", "none":
		return "none", nil
	case "console":
		return name, nil
	case "otlp":
		if protocol := s.otlp("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
			return "", fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; set it to http/protobuf, and the endpoint to a collector's port for HTTP (often 4318)", protocol)
		}
		return name, nil
	}
	return "", fmt.Errorf("OTEL_%s_EXPORTER is %q; it can be otlp, console or none", s.signal, name)
}

// otlp returns a variable of OTLP: that of the signal, or that of all signals.
func (s settings) otlp(name string) string {
	return cmp.Or(s.get("OTEL_EXPORTER_OTLP_"+s.signal+"_"+name), s.get("OTEL_EXPORTER_OTLP_"+name))
}

// Start sets OpenTelemetry's global providers if a variable asks for that. get reads a variable, console is where
// the exporter of that name writes. stop sends what is left, for a few seconds at most.
func Start(
	ctx context.Context, version string, get func(string) string, console io.Writer,
) (stop func() error, err error) {
	nothing := func() error { return nil }
	traces, err := settings{"TRACES", get}.exporter()
	if err != nil {
		return nothing, err
	}
	metrics, err := settings{"METRICS", get}.exporter()
	if err != nil {
		return nothing, err
	}
	if traces == "none" && metrics == "none" {
		return nothing, nil
	}

	// Two servers are told apart by service.instance.id. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last and
	// count.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "runner"),
		attribute.String("service.version", version),
		attribute.String("service.instance.id", uuid.NewString()),
	), resource.WithFromEnv())
	if err != nil {
		return nothing, err
	}
	var stops []func(context.Context) error
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		var errs []error
		for _, stop := range stops {
			errs = append(errs, stop(ctx))
		}
		return errors.Join(errs...)
	}
	if traces != "none" {
		to, err := spans(ctx, traces, console)
		if err != nil {
			return stop, err
		}
		p := trace.NewTracerProvider(trace.WithBatcher(to), trace.WithResource(about))
		stops = append(stops, p.Shutdown)
		otel.SetTracerProvider(p)
	}
	if metrics != "none" {
		to, err := readings(ctx, metrics, console)
		if err != nil {
			return stop, err
		}
		p := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(to)), metric.WithResource(about))
		stops = append(stops, p.Shutdown)
		otel.SetMeterProvider(p)
	}
	return stop, nil
}

func spans(ctx context.Context, exporter string, console io.Writer) (trace.SpanExporter, error) {
	if exporter == "console" {
		return stdouttrace.New(stdouttrace.WithWriter(console))
	}
	return otlptracehttp.New(ctx)
}

func readings(ctx context.Context, exporter string, console io.Writer) (metric.Exporter, error) {
	if exporter == "console" {
		return stdoutmetric.New(stdoutmetric.WithWriter(console))
	}
	return otlpmetrichttp.New(ctx)
}
