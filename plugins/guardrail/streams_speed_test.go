package guardrail_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// streamTexts returns texts of the kinds that cost most.
func streamTexts(size int) map[string]string {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(f func() string) string {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(f())
		}
		return b.String()[:size]
	}
	return map[string]string{
		"prose": fill(func() string {
			return "It was a quiet day by the river, and nobody had anything to say about the boats. "
		}),
		"digits": fill(func() string { return fmt.Sprintf("%d ", r.IntN(100000)) }),
		"ssns":   fill(func() string { return fmt.Sprintf("%03d-%02d-%04d ", r.IntN(1000), r.IntN(100), r.IntN(10000)) }),
		"cards": fill(func() string {
			return fmt.Sprintf("4%03d %04d %04d %04d, ", r.IntN(1000), r.IntN(10000), r.IntN(10000), r.IntN(10000))
		}),
		"long":   fill(func() string { return fmt.Sprintf("%d", r.IntN(10)) }),
		"base64": fill(func() string { return "aGVyb24gYXQgYW5uQGV4YW1wbGUuY29t" }),
		"json":   fill(func() string { return fmt.Sprintf(`{"name": "ann", "id": %d, "text": "a\nb"}, `, r.IntN(100000)) }),
	}
}

// Texts of a kind in chunks of 16 bytes, and as wholes.
func BenchmarkStreamsOfAKind(b *testing.B) {
	for name, text := range streamTexts(8 << 10) {
		b.Run(name+"/stream", func(b *testing.B) {
			p := quiet(b, guardrail.Config{Key: []byte("a key of sixteen bytes, and more")})
			for b.Loop() {
				inv := &session.Invocation{ID: "i", Key: key}
				for at := 0; at < len(text); at += 16 {
					e := session.Reply(text[at:min(len(text), at+16)])
					e.ID, e.Author, e.Partial = "e", "bot", true
					p.OnEvent(ctx, inv, e)
				}
				p.AfterRun(ctx, inv, plugin.End{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000*1024/float64(b.N*len(text)), "µs/KB")
		})
		b.Run(name+"/whole", func(b *testing.B) {
			p := policy.Default()
			for b.Loop() {
				p.Judge(policy.Output, policy.Scope{}, text)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000*1024/float64(b.N*len(text)), "µs/KB")
		})
	}
}
