package message

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

// Traceparent returns the W3C trace context of ctx, "" if it has none.
func Traceparent(ctx context.Context) string {
	var parent parentOnly
	propagation.TraceContext{}.Inject(ctx, &parent)
	return string(parent)
}

// parentOnly carries the traceparent of a trace context, and drops the rest.
type parentOnly string

const traceparentKey = "traceparent"

// Get implements propagation.TextMapCarrier.
func (p *parentOnly) Get(key string) string {
	if key == traceparentKey {
		return string(*p)
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (p *parentOnly) Set(key, value string) {
	if key == traceparentKey {
		*p = parentOnly(value)
	}
}

// Keys implements propagation.TextMapCarrier.
func (p *parentOnly) Keys() []string { return []string{traceparentKey} }

// WithTraceparent returns a context with a W3C trace context, or ctx itself if parent is "".
func WithTraceparent(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	carrier := parentOnly(parent)
	return propagation.TraceContext{}.Extract(ctx, &carrier)
}
