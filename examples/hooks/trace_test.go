package hooks_test

import (
	"context"
	"fmt"
	"iter"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// tracedModel makes a span of each model call.
type tracedModel struct {
	model.Model
	tracer trace.Tracer
}

func (m tracedModel) Generate(
	ctx context.Context,
	req *model.Request,
) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		ctx, span := m.tracer.Start(ctx, "model")
		defer span.End()
		for r, err := range m.Model.Generate(ctx, req) {
			if err != nil {
				span.SetStatus(codes.Error, "") // the error may quote what was said
			} else if u := r.UsageMetadata; u != nil && !r.Partial {
				span.SetAttributes(attribute.Int("tokens", int(u.TotalTokenCount)))
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// traced makes a span of each call of the tool. A call that a plugin answered is not executed, and
// has none.
func traced(t *tool.Tool, tracer trace.Tracer) *tool.Tool {
	made := *t
	made.Run = func(ctx context.Context, call *tool.Call) (map[string]any, error) {
		ctx, span := tracer.Start(ctx, "tool "+t.Name())
		defer span.End()
		out, err := t.Run(ctx, call)
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		return out, err
	}
	return &made
}

// Makes spans of a run, its model calls and its tool calls, under the caller's. How the run ended
// is told to the span by a plugin that is no observer: an observer's hooks may come when the span
// has ended.
func Example_spans() {
	tracer := printer{} // otel.Tracer("desk"), in a program that exports
	ends := &plugin.Plugin{
		Name: "ends",
		AfterRun: func(ctx context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			trace.SpanFromContext(ctx).SetAttributes(attribute.String("end", string(end.Kind)))
			return plugin.Outcome{}, nil
		},
	}
	weather, err := tool.New(
		"get_weather",
		"Says what the weather is.",
		func(context.Context, *tool.Call, struct{}) (string, error) {
			return "sunny", nil
		},
	)
	if err != nil {
		panic(err)
	}
	desk := newAgent(llm.Config{Name: "desk", Tools: []*tool.Tool{traced(weather, tracer)},
		Model: tracedModel{says(&genai.FunctionCall{Name: "get_weather"}, "It is sunny."), tracer}})
	r, err := runner.New(
		runner.Options{Agent: desk, Sessions: memory.New(), Plugins: []*plugin.Plugin{ends}})
	if err != nil {
		panic(err)
	}
	defer r.Close(context.Background())

	ctx, request := tracer.Start(context.Background(), "request")
	ctx, span := tracer.Start(ctx, "run")
	for e, err := range r.Run(ctx, session.Key{App: "shop", User: "ada", ID: "1"}, session.Message("What is the weather?"), session.RunConfig{Create: true}) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		} else if e.ErrorCode != "" {
			span.SetAttributes(attribute.String("error.code", e.ErrorCode))
		}
	}
	span.End()
	request.End()
	// Output:
	// request > run > model tokens=10
	// request > run > tool get_weather
	// request > run > model tokens=10
	// request > run end=done
	// request
}

// printer is a tracer that prints each span when it ends: its place and its attributes.
type printer struct{ noop.Tracer }

type printed struct {
	noop.Span
	place, attributes string
}

func (printer) Start(
	ctx context.Context,
	name string,
	_ ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	if parent, ok := trace.SpanFromContext(ctx).(*printed); ok {
		name = parent.place + " > " + name
	}
	span := &printed{place: name}
	return trace.ContextWithSpan(ctx, span), span
}

func (s *printed) SetAttributes(list ...attribute.KeyValue) {
	for _, a := range list {
		s.attributes += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
	}
}

func (s *printed) End(...trace.SpanEndOption) { fmt.Println(s.place + s.attributes) }
