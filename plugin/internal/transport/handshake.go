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

// ProtocolVersion is the version of the protocol that is spoken here; see wire/plugin.proto.
const ProtocolVersion = 1

// What a plugin's process finds in its environment, besides what go-plugin puts there.
const (
	// CookieKey and CookieValue say that a host has started the process.
	CookieKey   = "PLUGHOOK_PLUGIN"
	CookieValue = "v1"
	// EnvMaxMessage is how many bytes a message may have.
	EnvMaxMessage = "PLUGHOOK_MAX_MESSAGE"
	// EnvAttach is the socket at which a plugin that a developer has started waits for hosts.
	EnvAttach = "PLUGHOOK_ATTACH"
)

const (
	// DefaultMaxMessage is how many bytes a message may have if nothing else is configured.
	DefaultMaxMessage = 64 << 20

	window   = 4 << 20   // bytes of HTTP/2's flow control
	ioBuffer = 128 << 10 // bytes of a connection, each way: most messages are one system call
)

// LastWords is how long to wait for what usually comes at once: the end of a process that has
// ended its stream, the end of its output, the end of the other side's streams.
const LastWords = 100 * time.Millisecond

// Handshake is what go-plugin compares on both sides.
var Handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   CookieKey,
	MagicCookieValue: CookieValue,
}

// GRPCLimit returns the limit on messages that gRPC gets, in bytes. It is above maxMessage:
// beyond its limit gRPC ends the stream, and a message that is too large shall only fail its
// call.
func GRPCLimit(maxMessage int) int { return maxMessage + 64<<10 }

// ServerOptions returns the options of a plugin's gRPC server.
func ServerOptions(maxMessage int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(GRPCLimit(maxMessage)),
		grpc.MaxSendMsgSize(GRPCLimit(maxMessage)),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(window),
		grpc.ForceServerCodecV2(codec{}),
		experimental.BufferPool(&buffers),
		grpc.WriteBufferSize(ioBuffer),
		grpc.ReadBufferSize(ioBuffer),
	}
}

// DialOptions returns the options of a host's gRPC connection.
func DialOptions(maxMessage int) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
		experimental.WithBufferPool(&buffers),
		grpc.WithWriteBufferSize(ioBuffer),
		grpc.WithReadBufferSize(ioBuffer),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(GRPCLimit(maxMessage)),
			grpc.MaxCallSendMsgSize(GRPCLimit(maxMessage)),
			grpc.ForceCodecV2(codec{})),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
	}
}

// PluginKind is the one kind of plugin that go-plugin knows of.
const PluginKind = "plughook"

// GRPCPlugin registers a plugin's service with go-plugin's server.
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
