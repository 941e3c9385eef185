package remote

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
const protocolVersion = 1

// What a plugin's process finds in its environment, besides what go-plugin puts there.
const (
	cookieKey   = "PLUGHOOK_PLUGIN"
	cookieValue = "v1"
	// envMaxMessage is how many bytes a message may have.
	envMaxMessage = "PLUGHOOK_MAX_MESSAGE"
	// envAttach is, for a plugin that nobody has started for a runner, the socket at which it waits for runners.
	envAttach = "PLUGHOOK_ATTACH"
)

const (
	defaultMaxMessage = 64 << 20
	window            = 4 << 20   // of HTTP/2's flow control
	ioBuffer          = 128 << 10 // of a connection, each way: most messages are one system call
)

// lastWords is how long to wait for what usually comes at once: the end of a process that has ended its
// stream, the end of its output, the end of the other side's streams.
const lastWords = 100 * time.Millisecond

var handshake = goplugin.HandshakeConfig{ProtocolVersion: protocolVersion, MagicCookieKey: cookieKey, MagicCookieValue: cookieValue}

// grpcLimit is what gRPC is told of a limit on messages: it ends the stream beyond, where we fail a call.
func grpcLimit(maxMessage int) int { return maxMessage + 64<<10 }

func serverOptions(maxMessage int) []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(grpcLimit(maxMessage)), grpc.MaxSendMsgSize(grpcLimit(maxMessage)),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.ForceServerCodecV2(codec{}), experimental.BufferPool(&buffers), grpc.WriteBufferSize(ioBuffer), grpc.ReadBufferSize(ioBuffer)}
}

func dialOptions(maxMessage int) []grpc.DialOption {
	return []grpc.DialOption{grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		experimental.WithBufferPool(&buffers), grpc.WithWriteBufferSize(ioBuffer), grpc.WithReadBufferSize(ioBuffer),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(grpcLimit(maxMessage)), grpc.MaxCallSendMsgSize(grpcLimit(maxMessage)), grpc.ForceCodecV2(codec{})),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithIdleTimeout(0)}
}

// pluginKind is the one kind of plugin that go-plugin is told of.
const pluginKind = "plughook"

// grpcPlugin registers a plugin's service with go-plugin's server.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	service wire.PluginServer
}

// GRPCServer implements goplugin.GRPCPlugin.
func (p *grpcPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	wire.RegisterPluginServer(s, p.service)
	return nil
}

// GRPCClient implements goplugin.GRPCPlugin. The host makes its connection itself.
func (p *grpcPlugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("remote: the host makes its connection itself")
}
