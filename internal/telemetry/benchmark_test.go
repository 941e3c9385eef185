package telemetry_test

import (
	"testing"

	"github.com/plughook/plughook/internal/telemetry"
)

// What a tool call, with its span, costs where nobody collects anything.
func BenchmarkOff(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, span := telemetry.Tool(ctx, "add", "1", nil)
		span.Result(nil)
		span.End("")
	}
}
