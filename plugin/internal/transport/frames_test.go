//go:build unix

package transport

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin/remote/wire"
)

func hostMessages() *rapid.Generator[*wire.HostMessage] {
	return rapid.Custom(func(t *rapid.T) *wire.HostMessage {
		m := &wire.HostMessage{Seq: rapid.Uint64().Draw(t, "seq")}
		if rapid.Bool().Draw(t, "unknown") {
			AddUnknown(m)
		}
		if rapid.IntRange(0, 9).Draw(t, "ping") == 0 {
			m.Message = &wire.HostMessage_Ping{Ping: &wire.Ping{}}
			return m
		}
		call := &wire.Call{
			Hook:        wire.Hook_ON_EVENT,
			Traceparent: rapid.String().Draw(t, "traceparent"),
			Event: []byte(strings.Repeat("x",
				rapid.SampledFrom([]int{0, 1, apart - 1, apart, 70_000}).Draw(t, "event"))),
			Invocation: &wire.Invocation{
				Id:    rapid.String().Draw(t, "id"),
				Live:  []*wire.Span{{First: 1, Last: 7}},
				State: rapid.SliceOf(rapid.Byte()).Draw(t, "state"),
			},
		}
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
		"too large":           {"\x00\x10\x00\x01", "1048577 bytes; at most 1048576 are allowed"},
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
