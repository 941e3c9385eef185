//go:build unix

package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

func init() {
	processes["over gRPC"] = func() {
		withoutFrames = true
		Serve(ask(answer))
	}
}

func hostMessages() *rapid.Generator[*wire.HostMessage] {
	return rapid.Custom(func(t *rapid.T) *wire.HostMessage {
		m := &wire.HostMessage{Seq: rapid.Uint64().Draw(t, "seq")}
		if rapid.Bool().Draw(t, "unknown") {
			addUnknown(m)
		}
		if rapid.IntRange(0, 9).Draw(t, "ping") == 0 {
			m.Message = &wire.HostMessage_Ping{Ping: &wire.Ping{}}
			return m
		}
		call := &wire.Call{Hook: wire.Hook_ON_EVENT, Traceparent: rapid.String().Draw(t, "traceparent"),
			Event:      []byte(strings.Repeat("x", rapid.SampledFrom([]int{0, 1, apart - 1, apart, 70_000}).Draw(t, "event"))),
			Invocation: &wire.Invocation{Id: rapid.String().Draw(t, "id"), Live: []*wire.Span{{First: 1, Last: 7}}, State: rapid.SliceOf(rapid.Byte()).Draw(t, "state")}}
		if rapid.Bool().Draw(t, "bounded") {
			call.Remaining = durationpb.New(time.Second)
		}
		if rapid.Bool().Draw(t, "request") {
			call.Request = &wire.ModelRequest{Agent: "bot", Contents: [][]byte{[]byte("{}")}}
		}
		if rapid.Bool().Draw(t, "end") {
			call.End = &wire.End{Kind: "done"}
		}
		m.Message = &wire.HostMessage_Call{Call: call}
		return m
	})
}

// A message is the same after the wire, whichever that is and however large its event.
func TestMessagesSurviveTheWire(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	to, from := newFrames(a, 1<<20), newFrames(b, 1<<20)
	rapid.Check(t, func(t *rapid.T) {
		m := hostMessages().Draw(t, "message")
		data, err := codec{}.Marshal(m)
		require.NoError(t, err)
		over := new(wire.HostMessage)
		require.NoError(t, codec{}.Unmarshal(data, over))
		require.True(t, proto.Equal(m, over), "%v\n%v", m, over)

		sent := make(chan error, 1)
		go func() { sent <- to.write(m) }()
		over = new(wire.HostMessage)
		require.NoError(t, from.read(over))
		require.NoError(t, <-sent)
		require.True(t, proto.Equal(m, over), "%v\n%v", m, over)
	})
}

func TestFramesThatAreNone(t *testing.T) {
	for name, c := range map[string]struct{ data, says string }{
		"too large":           {"\x00\x10\x00\x01", "1048577 bytes; 1048576 is the most"},
		"no message":          {"\x00\x00\x00\x02\xff\xff", "cannot parse"},
		"cut in the length":   {"\x00\x00", "EOF"},
		"cut in a message":    {"\x00\x00\x00\x02\x08", "EOF"},
		"cut in a large one":  {"\x00\x04\x00\x00" + strings.Repeat("x", 200_000), "EOF"},
		"nothing of it comes": {"\x00\x10\x00\x00", "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := net.Pipe()
			defer b.Close()
			go func() { _, _ = io.WriteString(a, c.data); _ = a.Close() }()
			require.ErrorContains(t, newFrames(b, 1<<20).read(new(wire.PluginMessage)), c.says)
		})
	}
}

// What a plugin does over frames it does over gRPC's stream, which is all that plugins in other languages have.
func TestBothStreams(t *testing.T) {
	for _, name := range []string{"asked", "over gRPC"} {
		t.Run(name, func(t *testing.T) {
			c := command(name)
			c.MaxMessage = 1 << 20
			p, _ := started(t, c)
			require.Equal(t, name == "asked" && !withoutFrames, p.about.Frames)
			require.Equal(t, "hello", asked(t, p, "say hello"))
			large := strings.Repeat("y", 500_000)
			require.Equal(t, large, asked(t, p, "say "+large))
			_, err := question(t, p, "panic over")
			require.ErrorIs(t, err, plugin.ErrPanic)

			_, err = question(t, p, "say "+strings.Repeat("y", 1<<20)) // to the plugin
			require.ErrorIs(t, err, ErrTooLarge)
			require.ErrorContains(t, err, "1048576 is the most")
			_, err = question(t, p, "large 2000000") // and from it
			require.ErrorIs(t, err, plugin.ErrOutcome)
			require.Equal(t, "still there", asked(t, p, "say still there"))

			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err = p.conn.call(ctx, &session.Invocation{}, args{hook: plugin.OnEvent, event: textEvent("wait")})
			require.True(t, errors.Is(err, context.DeadlineExceeded) || errors.Is(err, plugin.ErrTimeout), "whoever is first to see it: %v", err)
			_, err = question(t, p, "crash and burn")
			require.ErrorIs(t, err, ErrGone)
			require.ErrorContains(t, err, "panic: and burn")
			require.NoError(t, p.stop(t.Context()))

			p, _ = started(t, c)
			require.NoError(t, p.stop(t.Context()))
		})
	}
}

// A plugin that is stopped takes no message. Calls end in time all the same; and if it goes on, so does the stream,
// also in the middle of a message.
func TestAPluginThatTakesNoMessage(t *testing.T) {
	for _, name := range []string{"asked", "over gRPC"} {
		t.Run(name, func(t *testing.T) {
			p, _ := started(t, command(name))
			asked(t, p, "say hello")
			require.NoError(t, unix.Kill(p.pid, unix.SIGSTOP))
			said := 0
			for text := "say " + strings.Repeat("y", 3000); said < 1000; said++ {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Microsecond)
				_, err := p.conn.call(ctx, &session.Invocation{}, args{hook: plugin.OnEvent, event: textEvent(text)})
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					require.ErrorContains(t, err, "takes no message")
					break
				}
			}
			require.Greater(t, said, 100)
			require.NoError(t, unix.Kill(p.pid, unix.SIGCONT))
			for {
				answer, err := question(t, p, "say go on")
				if err == nil {
					require.Equal(t, "go on", answer)
					break
				}
				require.ErrorContains(t, err, "takes no message")
			}
			require.NoError(t, p.stop(t.Context()))
		})
	}
}
