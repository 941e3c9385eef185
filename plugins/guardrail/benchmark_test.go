package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

var clean = strings.Repeat(
	"It was a quiet day by the river, and nobody had anything to say about the boats. ", 50)

func BenchmarkEventClean(b *testing.B) {
	p := quiet(b, guardrail.Config{})
	e := session.Reply(clean)
	e.Author = "bot"
	inv := &session.Invocation{ID: "i", Key: key}
	b.SetBytes(int64(len(clean)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := p.OnEvent(ctx, inv, e)
		require.NoError(b, err)
	}
}

// A long answer in chunks of four bytes: the work is in proportion to its length, and not to its
// square.
func BenchmarkStream(b *testing.B) {
	p := quiet(b, guardrail.Config{})
	long := strings.Repeat(clean, 16)
	var chunks []string
	for at := 0; at < len(long); at += 4 {
		chunks = append(chunks, long[at:min(len(long), at+4)])
	}
	b.SetBytes(int64(len(long)))
	for b.Loop() {
		streamed(b, p, chunks...)
	}
}
