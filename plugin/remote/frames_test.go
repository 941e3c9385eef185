//go:build unix

package remote

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/session"
)

func init() {
	testplugin.Programs["over gRPC"] = func() {
		transport.WithoutFrames = true
		serve.Plugin(testplugin.Ask(answerText))
	}
}

// What a plugin does over frames it does over gRPC's stream, which is all that plugins in other
// languages have.
func TestBothStreams(t *testing.T) {
	for _, name := range []string{"asked", "over gRPC"} {
		t.Run(name, func(t *testing.T) {
			c := command(name)
			c.MaxMessage = 1 << 20
			p, _ := started(t, c)
			require.Equal(t, name == "asked" && !transport.WithoutFrames, p.about.Frames)
			require.Equal(t, "hello", asked(t, p, "say hello"))
			large := strings.Repeat("y", 500_000)
			require.Equal(t, large, asked(t, p, "say "+large))
			_, err := question(t, p, "panic over")
			require.ErrorIs(t, err, plugin.ErrPanic)

			_, err = question(t, p, "say "+strings.Repeat("y", 1<<20)) // to the plugin
			require.ErrorIs(t, err, ErrTooLarge)
			require.ErrorContains(t, err, "at most 1048576 are allowed")
			_, err = question(t, p, "large 2000000") // and from it
			require.ErrorIs(t, err, plugin.ErrOutcome)
			require.Equal(t, "still there", asked(t, p, "say still there"))

			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err = p.conn.call(ctx, &session.Invocation{},
				plugin.Args{Hook: plugin.OnEvent, Event: testplugin.TextEvent("wait")})
			require.True(t,
				errors.Is(err, context.DeadlineExceeded) || errors.Is(err, plugin.ErrTimeout),
				"whoever is first to see it: %v", err)
			_, err = question(t, p, "crash and burn")
			require.ErrorIs(t, err, ErrGone)
			require.ErrorContains(t, err, "panic: and burn")
			require.NoError(t, p.process.Stop(t.Context()))

			p, _ = started(t, c)
			require.NoError(t, p.process.Stop(t.Context()))
		})
	}
}

// A plugin that is stopped takes no message. Calls end in time all the same; and if it goes on,
// so does the stream, also in the middle of a message.
func TestAPluginThatTakesNoMessage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"asked", "over gRPC"} {
		t.Run(name, func(t *testing.T) {
			p, _ := started(t, command(name))
			asked(t, p, "say hello")
			require.NoError(t, unix.Kill(p.process.PID, unix.SIGSTOP))
			said := 0
			for text := "say " + strings.Repeat("y", 3000); said < 1000; said++ {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Microsecond)
				_, err := p.conn.call(ctx, &session.Invocation{},
					plugin.Args{Hook: plugin.OnEvent, Event: testplugin.TextEvent(text)})
				cancel()
				if err == nil { // it has not stopped yet
					said--
					continue
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					require.ErrorContains(t, err, "takes no message")
					break
				}
			}
			require.Greater(t, said, 100)
			require.NoError(t, unix.Kill(p.process.PID, unix.SIGCONT))
			for {
				answer, err := question(t, p, "say go on")
				if err == nil {
					require.Equal(t, "go on", answer)
					break
				}
				require.ErrorContains(t, err, "takes no message")
			}
			require.NoError(t, p.process.Stop(t.Context()))
		})
	}
}
