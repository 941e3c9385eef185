package coding_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/hooks/coding"
)

func toolCall(session, call int) coding.Input {
	return coding.Input{Agent: "claude", Event: "PreToolUse", Payload: fmt.Appendf(nil,
		`{"hook_event_name":"PreToolUse","session_id":"s%d","cwd":"/w","tool_name":"Bash","tool_use_id":"t%d","tool_input":{"command":"echo %s"}}`,
		session, call, strings.Repeat("x", 800))}
}

// BenchmarkAnswer is a call of 1 KB in the process, without plugins, on a store in memory.
func BenchmarkAnswer(b *testing.B) {
	h := host(b)
	for i := 0; b.Loop(); i++ {
		_, err := h.Answer(context.Background(), toolCall(i/20, i))
		require.NoError(b, err)
	}
}

// BenchmarkSessions is a call of each of 500 sessions at once, over the socket of one server.
func BenchmarkSessions(b *testing.B) {
	h := host(b)
	socket := filepath.Join(b.TempDir(), "own", "hooks.sock")
	listener, err := coding.Listen(socket)
	require.NoError(b, err)
	server := &http.Server{Handler: h.Handler(slog.New(slog.DiscardHandler)), ReadHeaderTimeout: time.Minute}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	defer served.Wait()
	defer server.Close()
	for i := 0; b.Loop(); i++ {
		var calls sync.WaitGroup
		for s := range 500 {
			calls.Go(func() {
				reply, err := coding.Forward(socket, toolCall(s, i))
				if err != nil || reply.Exit != 0 {
					b.Error(err, reply.Exit)
				}
			})
		}
		calls.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/500, "ms/hook")
}
