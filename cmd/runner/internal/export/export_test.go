package export_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/cmd/runner/internal/export"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool/mcp"
)

// A collector takes OTLP over HTTP.
type collector struct {
	mu      sync.Mutex
	spans   map[string]*tracepb.Span // by name
	slow    []time.Duration          // of spans of hooks that decided nothing
	metrics map[string]bool
	all     string // every message as text
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	var traces collectortrace.ExportTraceServiceRequest
	var metrics collectormetrics.ExportMetricsServiceRequest
	switch {
	case r.URL.Path == "/v1/traces" && proto.Unmarshal(body, &traces) == nil:
		c.all += traces.String()
		for _, resource := range traces.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					if strings.HasPrefix(s.Name, "plughook.hook ") && texts(s)["plughook.decision"] == "" {
						c.slow = append(c.slow, time.Duration(s.EndTimeUnixNano-s.StartTimeUnixNano))
						continue
					}
					c.spans[s.Name] = s
				}
			}
		}
	case r.URL.Path == "/v1/metrics" && proto.Unmarshal(body, &metrics) == nil:
		c.all += metrics.String()
		for _, resource := range metrics.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.metrics[m.Name] = true
				}
			}
		}
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// texts returns the attributes of a span that are texts or numbers.
func texts(s *tracepb.Span) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[a.Key] = a.Value.GetStringValue()
		if n := a.Value.GetIntValue(); n != 0 {
			all[a.Key] = fmt.Sprint(n)
		}
	}
	return all
}

// One run goes through a workflow, an agent, a model, a tool of an MCP server and two plugins, one of them on the
// other side of the protocol. A real receiver of OTLP gets one trace of it.
func TestARunIsOneTrace(t *testing.T) {
	got := &collector{spans: map[string]*tracepb.Span{}, metrics: map[string]bool{}}
	receiver := httptest.NewServer(got)
	defer receiver.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	stop, err := export.Start(t.Context(), "1", os.Getenv, io.Discard)
	require.NoError(t, err)

	// A tool that notes which trace its server was told.
	var toldInMeta, toldInHeader string
	server := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "add", Description: "Adds."},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{ A int }) (*sdk.CallToolResult, map[string]int, error) {
			toldInMeta, _ = r.Params.Meta["traceparent"].(string)
			toldInHeader = r.Extra.Header.Get("traceparent")
			return nil, map[string]int{"sum": 3}, nil
		})
	endpoint := httptest.NewServer(
		sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer endpoint.Close()
	tools, err := mcp.Open(t.Context(), mcp.Config{URL: endpoint.URL})
	require.NoError(t, err)
	defer tools.Close()

	// A plugin that decides, and one behind the protocol that notes its trace.
	redact := &plugin.Plugin{
		Name: "redact",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() != "SECRET-ANSWER" {
				return plugin.Outcome{}, nil
			}
			c := session.Reply("clean")
			return plugin.Outcome{Replace: c, Reason: "SECRET-REASON"}, nil
		},
	}
	seen := map[string]bool{} // trace IDs
	far := remote.Loopback(&plugin.Plugin{
		Name: "far",
		OnEvent: func(ctx context.Context, _ *session.Invocation, _ *session.Event) (plugin.Outcome, error) {
			seen[trace.SpanContextFromContext(ctx).TraceID().String()] = true
			return plugin.Outcome{}, nil
		},
	})

	m, err := script.Parse("m.yaml", []byte(`
- {response: add, say: SECRET-ANSWER, usage: {prompt: 7, answer: 5}}
- {user: sum, call: {name: add, args: {A: 1}}}
`))
	require.NoError(t, err)
	clerk, err := llm.New(llm.Config{Name: "clerk", Model: m, Tools: tools.Tools()})
	require.NoError(t, err)
	desk, err := workflow.New(workflow.Graph{Name: "desk", Edges: []workflow.Edge{
		{From: workflow.Start, To: workflow.Agent(clerk)},
	}})
	require.NoError(t, err)
	r, err := runner.New(runner.Options{Agent: desk, Sessions: memory.New(), Plugins: []*plugin.Plugin{redact, far}})
	require.NoError(t, err)

	// The caller of the run has a trace.
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	ctx := telemetry.Extract(t.Context(),
		propagation.MapCarrier{"traceparent": "00-" + traceID + "-b7ad6b7169203331-01"})
	key := session.Key{App: "shop", User: "ada", ID: "s1"}
	for _, err := range r.Run(ctx, key, session.Message("sum SECRET-INPUT"), session.RunConfig{Create: true}) {
		require.NoError(t, err)
	}
	require.NoError(t, r.Close(t.Context()))
	require.NoError(t, far.Close(t.Context()))
	require.NoError(t, stop())

	// Each span has the one around it as its parent.
	parent := map[string]string{
		"invoke_agent desk":            "plughook.run shop",
		"invoke_node clerk":            "invoke_agent desk",
		"invoke_agent clerk":           "invoke_node clerk",
		"chat m.yaml":                  "invoke_agent clerk",
		"execute_tool add":             "invoke_agent clerk",
		"plughook.hook redact OnEvent": "invoke_agent desk",
	}
	for name, above := range parent {
		require.Contains(t, got.spans, name)
		require.Equal(t, traceID, fmt.Sprintf("%x", got.spans[name].TraceId))
		require.Equal(t, got.spans[above].GetSpanId(), got.spans[name].ParentSpanId, name)
	}
	require.Equal(t, "b7ad6b7169203331", fmt.Sprintf("%x", got.spans["plughook.run shop"].ParentSpanId))
	require.Equal(t, "done", texts(got.spans["plughook.run shop"])["plughook.end"])
	require.Equal(t, "replaced", texts(got.spans["plughook.hook redact OnEvent"])["plughook.decision"])
	asked := texts(got.spans["chat m.yaml"])
	require.Equal(t, "script", asked["gen_ai.provider.name"])
	require.Equal(t, "s1", asked["gen_ai.conversation.id"])
	require.Equal(t, "5", asked["gen_ai.usage.output_tokens"])
	require.NotContains(t, got.spans, "plughook.hook far OnEvent")
	for _, took := range got.slow { // a hook that decides nothing has a span only if it was slow, as on a busy machine
		require.GreaterOrEqual(t, took, 10*time.Millisecond)
	}

	// The trace reached the MCP server and the plugin, and nobody was told content.
	inTool := fmt.Sprintf("00-%s-%x-01", traceID, got.spans["execute_tool add"].SpanId)
	require.Equal(t, inTool, toldInMeta)
	require.Equal(t, inTool, toldInHeader)
	require.Equal(t, map[string]bool{traceID: true}, seen)
	require.NotContains(t, got.all, "SECRET")

	for _, name := range []string{telemetry.ChatDuration, telemetry.TokenUsage, telemetry.AgentDuration, telemetry.ToolDuration,
		telemetry.Invocations, telemetry.HookDuration, telemetry.LeaseWait, telemetry.AppendDuration} {
		require.True(t, got.metrics[name], name)
	}
}

func TestWrongVariables(t *testing.T) {
	for name, want := range map[string]string{
		"OTEL_TRACES_EXPORTER=jaeger":                                                        "it can be otlp, console or none",
		"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                         "set it to http/protobuf",
		"OTEL_TRACES_EXPORTER=jaeger OTEL_SDK_DISABLED=true":                                 "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=x OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none": "",
	} {
		set := map[string]string{}
		for _, v := range strings.Fields(name) {
			key, value, _ := strings.Cut(v, "=")
			set[key] = value
		}
		_, err := export.Start(t.Context(), "1", func(key string) string { return set[key] }, io.Discard)
		if want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, want, name)
	}
}
