package transport

import (
	"context"
	"errors"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// protocolVersion is the version of wire/plugin.proto that this package speaks.
const ProtocolVersion = 1

// What a plugin's process finds in its environment, besides what go-plugin puts there.
const (
	CookieKey   = "PLUGHOOK_PLUGIN"
	CookieValue = "v1"
	// envMaxMessage is how many bytes a message may have.
	EnvMaxMessage = "PLUGHOOK_MAX_MESSAGE"
	// envAttach is, for a plugin that nobody has started for a runner, the socket at which it waits for runners.
	EnvAttach = "PLUGHOOK_ATTACH"
)

const (
	DefaultMaxMessage = 64 << 20
	window            = 4 << 20   // of HTTP/2's flow control
	ioBuffer          = 128 << 10 // of a connection, each way: most messages are one system call
)

// lastWords is how long to wait for what usually comes at once: the end of a process that has ended its
// stream, the end of its output, the end of the other side's streams.
const LastWords = 100 * time.Millisecond

var Handshake = goplugin.HandshakeConfig{ProtocolVersion: ProtocolVersion, MagicCookieKey: CookieKey, MagicCookieValue: CookieValue}

// grpcLimit is what gRPC is told of a limit on messages: it ends the stream beyond, where we fail a call.
func GRPCLimit(maxMessage int) int { return maxMessage + 64<<10 }

func ServerOptions(maxMessage int) []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(GRPCLimit(maxMessage)), grpc.MaxSendMsgSize(GRPCLimit(maxMessage)),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.ForceServerCodecV2(codec{}), experimental.BufferPool(&buffers), grpc.WriteBufferSize(ioBuffer), grpc.ReadBufferSize(ioBuffer)}
}

func DialOptions(maxMessage int) []grpc.DialOption {
	return []grpc.DialOption{grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		experimental.WithBufferPool(&buffers), grpc.WithWriteBufferSize(ioBuffer), grpc.WithReadBufferSize(ioBuffer),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(GRPCLimit(maxMessage)), grpc.MaxCallSendMsgSize(GRPCLimit(maxMessage)), grpc.ForceCodecV2(codec{})),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithIdleTimeout(0)}
}

// pluginKind is the one kind of plugin that go-plugin is told of.
const PluginKind = "plughook"

// grpcPlugin registers a plugin's service with go-plugin's server.
type GRPCPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	Service wire.PluginServer
}

// GRPCServer implements goplugin.GRPCPlugin.
func (p *GRPCPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	wire.RegisterPluginServer(s, p.Service)
	return nil
}

// GRPCClient implements goplugin.GRPCPlugin. The host makes its connection itself.
func (p *GRPCPlugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("remote: the host makes its connection itself")
}
