//go:build linux

package remote

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/internal/transport"
)

// What a plugin is measured against: two other ways to send bytes to a process and have a small
// answer.
func init() {
	testplugin.Programs["floor"] = floorMain
	testplugin.Programs["stock"] = func() {
		goplugin.Serve(&goplugin.ServeConfig{
			HandshakeConfig: transport.Handshake,
			GRPCServer:      goplugin.DefaultGRPCServer,
			Plugins:         goplugin.PluginSet{transport.PluginKind: &stockPlugin{}},
		})
	}
}

// answerSize is how many bytes the answer of a plugin that asks nothing has, about.
const answerSize = 16

// floorMain answers frames, a length and bytes, with frames.
func floorMain() {
	c, err := net.FileConn(os.NewFile(3, "socket"))
	if err != nil {
		panic(err)
	}
	r, answer := bufio.NewReaderSize(c, 128<<10), make([]byte, answerSize)
	for {
		if _, err := readFrame(r); err != nil || writeFrame(c, answer) != nil {
			return
		}
	}
}

func writeFrame(w io.Writer, data []byte) error {
	head := make([]byte, 4, 4+len(data))
	binary.BigEndian.PutUint32(head, uint32(len(data)))
	_, err := w.Write(append(head, data...))
	return err
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	data := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r, data)
	return data, err
}

// floor is the least that a call of a process can cost: frames over a pair of sockets, and
// nothing else.
func floor(b *testing.B) func(data []byte) error {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(b, err)
	mine, theirs := os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
	cmd := exec.Command(os.Args[0], testplugin.AsPlugin, "floor")
	cmd.ExtraFiles = []*os.File{theirs}
	require.NoError(b, cmd.Start())
	require.NoError(b, theirs.Close())
	c, err := net.FileConn(mine)
	require.NoError(b, err)
	require.NoError(b, mine.Close())
	b.Cleanup(func() { _ = c.Close(); _ = cmd.Wait() })
	r := bufio.NewReader(c)
	return func(data []byte) error {
		if err := writeFrame(c, data); err != nil {
			return err
		}
		_, err := readFrame(r)
		return err
	}
}

// stockPlugin is a plugin as go-plugin's documentation has it: each call is one of gRPC. It is
// told an event too.
type stockPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer implements goplugin.GRPCPlugin.
func (*stockPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	answer := wrapperspb.Bytes(make([]byte, answerSize))
	s.RegisterService(
		&grpc.ServiceDesc{
			ServiceName: "bench.Stock",
			HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{{MethodName: "Call",
				Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
					data := new(wrapperspb.BytesValue)
					if err := decode(data); err != nil {
						return nil, err
					}
					_, err := message.DecodeEvent(data.Value)
					return answer, err
				}}},
		},
		s,
	)
	return nil
}

// GRPCClient implements goplugin.GRPCPlugin.
func (*stockPlugin) GRPCClient(
	_ context.Context,
	_ *goplugin.GRPCBroker,
	c *grpc.ClientConn,
) (any, error) {
	return c, nil
}

func stock(b *testing.B, size int) func() error {
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  transport.Handshake,
		Plugins:          goplugin.PluginSet{transport.PluginKind: &stockPlugin{}},
		Cmd:              exec.Command(os.Args[0], testplugin.AsPlugin, "stock"),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
	})
	b.Cleanup(client.Kill)
	rpc, err := client.Client()
	require.NoError(b, err)
	raw, err := rpc.Dispense(transport.PluginKind)
	require.NoError(b, err)
	conn := raw.(*grpc.ClientConn)
	return func() error {
		data, err := sized(size).MarshalJSON()
		if err != nil {
			return err
		}
		answer := new(wrapperspb.BytesValue)
		if err := conn.Invoke(b.Context(), "/bench.Stock/Call", wrapperspb.Bytes(data), answer); err != nil {
			return err
		}
		if len(answer.Value) != answerSize {
			return errors.New("another answer")
		}
		return nil
	}
}
