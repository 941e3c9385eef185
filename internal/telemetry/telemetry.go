// Package telemetry has the spans and metrics of runs, by OpenTelemetry's plain API. It does nothing until a
// program sets OpenTelemetry's global providers: then a Span is nil, and its methods return at once.
//
// The names stand in names.go. A new span: a function like Tool, called where the work is done. A new metric:
// a name, and a field of instruments.
package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Scope names who makes the spans and metrics.
const Scope = "github.com/plughook/plughook"

// slow is how long a hook that decided nothing takes before it has a span.
const slow = 10 * time.Millisecond

// The types of the providers that are there before a program has set its own.
var (
	noTracers = reflect.TypeOf(otel.GetTracerProvider()).String() == "*global.tracerProvider"
	noTracer  = reflect.TypeOf(otel.GetTracerProvider())
	noMeters  = reflect.TypeOf(otel.GetMeterProvider()).String() == "*global.meterProvider"
	noMeter   = reflect.TypeOf(otel.GetMeterProvider())
)

func tracing() bool  { return !noTracers || reflect.TypeOf(otel.GetTracerProvider()) != noTracer }
func metering() bool { return !noMeters || reflect.TypeOf(otel.GetMeterProvider()) != noMeter }

// On reports whether anybody collects spans or metrics.
func On() bool { return tracing() || metering() }

// content reports whether spans have what was said, too.
func content() bool {
	on, _ := strconv.ParseBool(os.Getenv(CaptureContent))
	return on
}

// A Span is one piece of work that is under way. A nil Span is valid.
type Span struct {
	span     trace.Span
	began    time.Time
	duration metric.Float64Histogram // of the work, by these attributes; nil if nobody wants it
	by       []attribute.KeyValue
}

// start begins a span. by are the attributes of both the span and its metric, more those of the span alone.
func start(
	ctx context.Context, name string, kind trace.SpanKind, duration metric.Float64Histogram, by, more []attribute.KeyValue,
) (context.Context, *Span) {
	s := &Span{began: time.Now(), duration: duration, by: by}
	ctx, s.span = otel.Tracer(Scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(s.began),
		trace.WithAttributes(by...), trace.WithAttributes(more...))
	return ctx, s
}

// context returns a context of the span that is not cancelled: the SDK drops what is recorded in one that is.
func (s *Span) context() context.Context { return trace.ContextWithSpan(context.Background(), s.span) }

// set adds attributes to the span, those without a value excepted.
func (s *Span) set(attrs ...attribute.KeyValue) {
	for _, a := range attrs {
		if a.Value.String() != "" {
			s.span.SetAttributes(a)
		}
	}
}

// End ends the span: failure says what kind of failure it ended with, "" if with none. It is safe to call it twice.
func (s *Span) End(failure string) {
	if s == nil || s.began.IsZero() {
		return
	}
	if failure != "" {
		failed := attribute.String(errorType, failure)
		s.by = append(s.by, failed)
		s.span.SetAttributes(failed)
		s.span.SetStatus(codes.Error, "") // a text may have content
	}
	s.span.End()
	if s.duration != nil {
		s.duration.Record(s.context(), time.Since(s.began).Seconds(), metric.WithAttributes(s.by...))
	}
	s.began = time.Time{}
}

// Failure names the kind of an error for End, without its text.
func Failure(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	for below := errors.Unwrap(err); below != nil; below = errors.Unwrap(below) {
		err = below
	}
	return fmt.Sprintf("%T", err)
}

// A Run names the run that spans belong to.
type Run struct{ App, Session, Invocation string }

// running is what spans know of the work around them.
type running struct {
	Run
	agent string
}

type runningKey struct{}

func around(ctx context.Context) running {
	r, _ := ctx.Value(runningKey{}).(running)
	return r
}

// Begin begins the span of a run.
func (r Run) Begin(ctx context.Context) (context.Context, *Span) {
	if !On() {
		return ctx, nil
	}
	ctx = context.WithValue(ctx, runningKey{}, running{Run: r})
	return start(ctx, runSpan+" "+r.App, trace.SpanKindInternal, nil, nil, []attribute.KeyValue{
		attribute.String(appName, r.App),
		attribute.String(conversationID, r.Session),
		attribute.String(invocationID, r.Invocation),
	})
}

// Ended ends the span of a run and counts the run. end says how it ended.
func (s *Span) Ended(end, failure string) {
	if s == nil {
		return
	}
	how := attribute.String(runEnd, end)
	s.set(how)
	meters().invocations.Add(s.context(), 1, metric.WithAttributes(how))
	s.End(failure)
}

// Agent begins the span of an agent. There is none if the span around is the same agent's.
func Agent(ctx context.Context, name string) (context.Context, *Span) {
	if !On() {
		return ctx, nil
	}
	r := around(ctx)
	if r.agent == name {
		return ctx, nil
	}
	r.agent = name
	ctx = context.WithValue(ctx, runningKey{}, r)
	by := []attribute.KeyValue{attribute.String(operationName, invokeAgent), attribute.String(agentName, name)}
	return start(ctx, invokeAgent+" "+name, trace.SpanKindInternal, meters().agent, by,
		[]attribute.KeyValue{attribute.String(conversationID, r.Session)})
}

// Node begins the span of a run of a workflow's node.
func Node(ctx context.Context, name, path string) (context.Context, *Span) {
	if !On() {
		return ctx, nil
	}
	return start(ctx, invokeNode+" "+name, trace.SpanKindInternal, nil, nil, []attribute.KeyValue{
		attribute.String(operationName, invokeNode),
		attribute.String(nodePath, path),
		attribute.String(conversationID, around(ctx).Session),
	})
}

// Tool begins the span of a tool call. args is content.
func Tool(ctx context.Context, name, id string, args any) (context.Context, *Span) {
	if !On() {
		return ctx, nil
	}
	by := []attribute.KeyValue{attribute.String(operationName, executeTool), attribute.String(toolName, name)}
	ctx, s := start(ctx, executeTool+" "+name, trace.SpanKindInternal, meters().tool, by, []attribute.KeyValue{
		attribute.String(toolCallID, id),
		attribute.String(conversationID, around(ctx).Session),
	})
	s.content(toolArguments, args)
	return ctx, s
}

// Result notes what a tool returned. It is content.
func (s *Span) Result(response any) { s.content(toolResult, response) }

// content sets an attribute to a value as JSON, if content was asked for.
func (s *Span) content(key string, v any) {
	if s == nil || !s.span.IsRecording() || !content() {
		return
	}
	if data, err := json.Marshal(v); err == nil {
		s.span.SetAttributes(attribute.String(key, string(data)))
	}
}

// Chat begins the span of a model call. messages is content. provider and model may be "".
func Chat(ctx context.Context, provider, model string, messages any) (context.Context, *Span) {
	if !On() {
		return ctx, nil
	}
	if provider == "" {
		provider = "_OTHER"
	}
	by := []attribute.KeyValue{attribute.String(operationName, chat), attribute.String(providerName, provider)}
	if model != "" {
		by = append(by, attribute.String(requestModel, model))
	}
	r := around(ctx)
	ctx, s := start(ctx, strings.TrimSpace(chat+" "+model), trace.SpanKindClient, meters().chat, by, []attribute.KeyValue{
		attribute.String(agentName, r.agent),
		attribute.String(conversationID, r.Session),
	})
	s.content(inputMessages, messages)
	return ctx, s
}

// An Answer is what a model answered.
type Answer struct {
	Model, FinishReason   string
	Input, Output, Cached int64 // tokens
	Message               any   // content
}

// Answered notes what a model answered.
func (s *Span) Answered(a Answer) {
	if s == nil {
		return
	}
	s.set(attribute.String(responseModel, a.Model))
	if a.FinishReason != "" {
		s.set(attribute.StringSlice(finishReasons, []string{a.FinishReason}))
	}
	s.content(outputMessages, a.Message)
	for _, used := range []struct {
		name, kind string
		n          int64
	}{{inputTokens, "input", a.Input}, {outputTokens, "output", a.Output}, {cachedTokens, "", a.Cached}} {
		if used.n == 0 {
			continue
		}
		s.set(attribute.Int64(used.name, used.n))
		if used.kind != "" {
			meters().tokens.Record(s.context(), used.n, metric.WithAttributes(s.by...),
				metric.WithAttributes(attribute.String(tokenType, used.kind)))
		}
	}
}

// A Hook is one call of a hook that has ended.
type Hook struct {
	Plugin, Hook string
	Event        string // the ID of the event that it was called on
	Did          []string
	Reason       string // content
	Failure      string
	Began        time.Time
}

// Tell tells of the call. Only a hook that decided something, failed or was slow has a span.
func (h Hook) Tell(ctx context.Context) {
	took := time.Since(h.Began)
	did := attribute.String(decision, strings.Join(h.Did, ","))
	by := []attribute.KeyValue{attribute.String(pluginName, h.Plugin), attribute.String(hookName, h.Hook)}
	meters().hook.Record(context.WithoutCancel(ctx), took.Seconds(), metric.WithAttributes(by...), metric.WithAttributes(did))
	if len(h.Did) == 0 && took < slow {
		return
	}
	name := hookSpan + " " + h.Plugin + " " + h.Hook
	_, span := otel.Tracer(Scope).Start(ctx, name, trace.WithTimestamp(h.Began), trace.WithAttributes(by...))
	s := &Span{span: span, began: h.Began}
	s.set(did, attribute.String(eventID, h.Event))
	if h.Reason != "" && content() {
		s.set(attribute.String(reason, h.Reason))
	}
	s.End(h.Failure)
}

// Waited records how long a run waited for its session.
func Waited(ctx context.Context, began time.Time) {
	if metering() {
		meters().wait.Record(context.WithoutCancel(ctx), time.Since(began).Seconds())
	}
}

// Appended records how long an append took.
func Appended(ctx context.Context, began time.Time) {
	if metering() {
		meters().appended.Record(context.WithoutCancel(ctx), time.Since(began).Seconds())
	}
}

// instruments are the metrics.
type instruments struct {
	chat, agent, tool, hook, wait, appended metric.Float64Histogram
	tokens                                  metric.Int64Histogram
	invocations                             metric.Int64Counter
}

// made are the instruments of a provider.
type made struct {
	of metric.MeterProvider
	*instruments
}

var lastMade atomic.Pointer[made]

// meters returns the metrics of the global provider, which a program may set anew.
func meters() *instruments {
	provider := otel.GetMeterProvider()
	if last := lastMade.Load(); last != nil && last.of == provider {
		return last.instruments
	}
	m := &made{of: provider, instruments: newInstruments(provider)}
	lastMade.Store(m)
	return m.instruments
}

func newInstruments(provider metric.MeterProvider) *instruments {
	m := provider.Meter(Scope)
	seconds := func(name, what string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
			metric.WithExplicitBucketBoundaries(bounds(0.01, 2, 14)...))
		handle(err)
		return h
	}
	short := func(name, what string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
			metric.WithExplicitBucketBoundaries(bounds(0.00001, 4, 11)...))
		handle(err)
		return h
	}
	tokens, err := m.Int64Histogram(TokenUsage, metric.WithUnit("{token}"), metric.WithDescription("tokens of model calls"),
		metric.WithExplicitBucketBoundaries(bounds(1, 4, 14)...))
	handle(err)
	invocations, err := m.Int64Counter(Invocations, metric.WithDescription("runs, by how they ended"))
	handle(err)
	return &instruments{
		chat:        seconds(ChatDuration, "duration of model calls"),
		agent:       seconds(AgentDuration, "duration of an agent's work"),
		tool:        seconds(ToolDuration, "duration of tool calls"),
		hook:        short(HookDuration, "duration of hook calls"),
		wait:        short(LeaseWait, "how long runs waited for their session"),
		appended:    short(AppendDuration, "duration of appends"),
		tokens:      tokens,
		invocations: invocations,
	}
}

// bounds returns n bounds of buckets: the first one, and each times the factor.
func bounds(first, factor float64, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = first
		first *= factor
	}
	return all
}

func handle(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

// Inject puts the trace that ctx is part of into a carrier, as W3C traceparent, and Extract takes it out.
func Inject(ctx context.Context, carrier propagation.TextMapCarrier) {
	propagation.TraceContext{}.Inject(ctx, carrier)
}

// InHeader returns a request with the traceparent of its context, for the server that it is sent to.
func InHeader(req *http.Request) *http.Request {
	if !trace.SpanContextFromContext(req.Context()).IsValid() {
		return req
	}
	req = req.Clone(req.Context()) // a transport must not change what it was given
	Inject(req.Context(), propagation.HeaderCarrier(req.Header))
	return req
}

// Of returns ctx as part of the trace that of is part of.
func Of(ctx, of context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.SpanContextFromContext(of))
}

// Extract returns ctx as part of the trace that a carrier has.
func Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	return propagation.TraceContext{}.Extract(ctx, carrier)
}
