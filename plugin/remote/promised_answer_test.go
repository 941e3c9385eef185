//go:build unix

package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

func init() {
	testplugin.Programs["promises"] = func() {
		path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			panic(err)
		}
		fmt.Println("1|1|unix|" + path + "|grpc")

		// The first connection is gRPC's.
		s := grpc.NewServer()
		wire.RegisterPluginServer(s, promises{})
		first := &oneConn{Listener: l}
		go func() { _ = s.Serve(first) }()

		// The second one is for frames. It begins a message of almost 64 MiB, and never ends it.
		<-served
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		_, _ = c.Write([]byte{0x03, 0xf0, 0, 0, 0x0a})
		_, _ = io.Copy(io.Discard, c)
	}
}

var served = make(chan struct{})

// oneConn is a listener that accepts one connection.
type oneConn struct {
	net.Listener
	accepted bool
}

func (o *oneConn) Accept() (net.Conn, error) {
	if o.accepted {
		select {}
	}
	o.accepted = true
	defer close(served)
	return o.Listener.Accept()
}

// promises is a plugin that takes frames.
type promises struct{ hostile }

func (promises) Describe(context.Context, *wire.Host) (*wire.Description, error) {
	return &wire.Description{Protocol: 1, Name: "promises", Frames: true}, nil
}

// A plugin that begins a large message and does not end it keeps no other plugin from answering.
func TestAMessageThatDoesNotEndHoldsUpNobody(t *testing.T) {
	_, _ = started(t, command("promises"))
	honest, _ := started(t, command("asked"))
	require.Len(t, asked(t, honest, "large "+strconv.Itoa(2*largeMessage)), 2*largeMessage)
}
