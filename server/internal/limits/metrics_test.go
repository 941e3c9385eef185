package limits_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/plughook/plughook/server/internal/limits"
)

// OpenTelemetry reads the same values that /metrics shows, and nothing after the server has stopped.
func TestOpenTelemetryReadsTheLimits(t *testing.T) {
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	defer otel.SetMeterProvider(before)

	p := limits.New(limits.Limits{UserRequests: 1}, slog.New(slog.DiscardHandler))
	stop, err := p.Observe()
	require.NoError(t, err)
	_, err = p.Request("eve")
	require.NoError(t, err)
	_, err = p.Request("eve")
	require.Error(t, err)
	p.Notices.Sent.Add(3)

	// lines returns what OpenTelemetry reads, as lines of OpenMetrics.
	lines := func() (all []string) {
		var got metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &got))
		for _, scope := range got.ScopeMetrics {
			for _, m := range scope.Metrics {
				name := strings.ReplaceAll(m.Name, ".", "_")
				var points []metricdata.DataPoint[float64]
				switch data := m.Data.(type) {
				case metricdata.Gauge[float64]:
					points = data.DataPoints
				case metricdata.Sum[float64]:
					require.True(t, data.IsMonotonic)
					name += "_total"
					points = data.DataPoints
				}
				for _, point := range points {
					labels := ""
					for _, a := range point.Attributes.ToSlice() {
						labels = fmt.Sprintf("{%s=%q}", a.Key, a.Value.AsString())
					}
					all = append(all, fmt.Sprintf("%s%s %s", name, labels, fmt.Sprint(int64(point.Value))))
				}
			}
		}
		return all
	}
	var text bytes.Buffer
	require.NoError(t, p.WriteMetrics(&text))
	var shown []string
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "#") {
			shown = append(shown, strings.TrimSpace(line))
		}
	}
	require.Contains(t, shown, `plughook_refused_total{limit="user_requests"} 1`)
	require.Contains(t, shown, `plughook_notices_total{result="sent"} 3`)
	require.ElementsMatch(t, shown, lines())

	require.NoError(t, stop())
	require.Empty(t, lines())
}
