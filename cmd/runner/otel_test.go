package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A receiver takes OTLP over HTTP. It names metrics as Prometheus does.
type receiver struct {
	mu      sync.Mutex
	servers map[string]bool // values of service.instance.id
	metrics map[string]bool
	spans   map[string]*tracepb.Span // by name
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var traces collectortrace.ExportTraceServiceRequest
	var metrics collectormetrics.ExportMetricsServiceRequest
	switch {
	case req.URL.Path == "/v1/traces" && proto.Unmarshal(body, &traces) == nil:
		for _, resource := range traces.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					r.spans[s.Name] = s
				}
			}
		}
	case req.URL.Path == "/v1/metrics" && proto.Unmarshal(body, &metrics) == nil:
		for _, resource := range metrics.ResourceMetrics {
			for _, a := range resource.Resource.Attributes {
				if a.Key == "service.instance.id" {
					r.servers[a.Value.GetStringValue()] = true
				}
			}
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					r.metrics[prometheusName(m)] = true
				}
			}
		}
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// prometheusName returns the name that a collector gives a metric for Prometheus.
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
func prometheusName(m *metricspb.Metric) string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	if m.GetSum().GetIsMonotonic() {
		name += "_total"
	}
	return name
}

var metricName = regexp.MustCompile(`\b(?:plughook|gen_ai)_[a-z_]+\b`)

// A server tells a collector of a run: with the caller's trace, with content if that was asked for, and with every
// metric that the dashboard of examples/otel shows.
func TestServerTellsACollector(t *testing.T) {
	t.Parallel()
	got := &receiver{
		servers: map[string]bool{},
		metrics: map[string]bool{},
		spans:   map[string]*tracepb.Span{},
	}
	collector := httptest.NewServer(got)
	defer collector.Close()
	start := inDir(t, map[string]string{
		"runner.yaml": `
app: desk
agent: {model: "script:script.yaml", tools: [look]}
tools:
  - {name: look, command: [echo, '{"seen": "RESULT"}']}
plugins:
  - earlyexit: {rules: [{text: stop, answer: Stopped.}]}
`,
		"script.yaml": `
- {response: look, say: There it is., usage: {prompt: 7, answer: 5}}
- {user: look, call: {name: look, args: {}}, usage: {prompt: 3, answer: 2}}
`,
	})
	cmd := start("serve", "--addr", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_METRICS_EXPORTER=otlp", "OTEL_METRIC_EXPORT_INTERVAL=100",
		"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true")
	s := startServe(t, cmd)

	// A caller with a trace of its own starts a run.
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/chat",
		strings.NewReader(`{"message": "look", "session": "1"}`))
	require.NoError(t, err)
	req.Header.Set("Traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Contains(t, string(answer), "There it is.")
	// The limits are read while the server lives.
	require.Eventually(t, func() bool {
		got.mu.Lock()
		defer got.mu.Unlock()
		return got.metrics["plughook_notices_total"]
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())

	got.mu.Lock()
	defer got.mu.Unlock()
	tool := got.spans["execute_tool look"]
	require.NotNil(t, tool)
	require.Equal(t, traceID, fmt.Sprintf("%x", tool.TraceId))
	require.Contains(t, tool.String(), "RESULT", "content was asked for")
	require.Len(t, got.servers, 1, "a server tells what it is called")

	dashboard, err := os.ReadFile("../../examples/otel/grafana/plughook.json")
	require.NoError(t, err)
	var shown struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(dashboard, &shown))
	asked := map[string]bool{}
	for _, p := range shown.Panels {
		for _, target := range p.Targets {
			labels := regexp.MustCompile(`by \([^)]*\)|\{[^}]*\}`).ReplaceAllString(target.Expr, "")
			for _, name := range metricName.FindAllString(labels, -1) {
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					name = strings.TrimSuffix(name, suffix)
				}
				asked[name] = true
			}
		}
	}
	require.Greater(t, len(asked), 10)
	for name := range asked {
		require.Contains(t, got.metrics, name)
	}
}

// The files of examples/otel are YAML, and those that they name are there.
func TestFilesOfTheCollectorExample(t *testing.T) {
	const dir = "../../examples/otel"
	files, err := filepath.Glob(dir + "/*.yaml")
	require.NoError(t, err)
	more, err := filepath.Glob(dir + "/grafana/*.yaml")
	require.NoError(t, err)
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var v map[string]any
		require.NoError(t, yaml.Unmarshal(data, &v), file)
	}
	data, err := os.ReadFile(dir + "/compose.yaml")
	require.NoError(t, err)
	var compose struct {
		Services map[string]struct{ Configs []mount }
		Configs  map[string]struct{ File string }
	}
	require.NoError(t, yaml.Unmarshal(data, &compose))
	for name, c := range compose.Configs {
		require.FileExists(t, filepath.Join(dir, c.File), name)
	}
	for name, service := range compose.Services {
		for _, m := range service.Configs {
			require.Contains(t, compose.Configs, m.Source, name)
		}
	}
}
