package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/plughook/plughook/plugin/internal/transport"
)

// gate looks at each new connection before gRPC does. It refuses those of other users, and hands
// those for frames to another function.
type gate struct {
	credentials.TransportCredentials
	frames func(net.Conn) // serves a connection for frames
}

// Clone implements credentials.TransportCredentials.
func (g gate) Clone() credentials.TransportCredentials {
	return gate{TransportCredentials: g.TransportCredentials.Clone(), frames: g.frames}
}

// ServerHandshake implements credentials.TransportCredentials.
func (g gate) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if err := checkHost(c); err != nil {
		return nil, nil, err
	}
	first := make([]byte, len(transport.FramesPreface))
	if _, err := io.ReadFull(c, first); err != nil {
		return nil, nil, err
	}
	if string(first) == transport.FramesPreface {
		_ = c.SetDeadline(time.Time{}) // gRPC has set one for the handshake
		go g.frames(c)
		return nil, nil, credentials.ErrConnDispatched
	}
	return g.TransportCredentials.ServerHandshake(&begun{c, first})
}

// checkHost returns an error if another user has connected. A plugin in a user namespace sees its
// host's user as its own: that one is mapped to itself.
func checkHost(c net.Conn) error {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return errors.New("remote: the connection is not a socket")
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var known bool
	if e := raw.Control(func(fd uintptr) { uid, _, known, err = transport.Peer(int(fd)) }); e != nil || err != nil {
		return errors.Join(e, err)
	}
	if known && uid != os.Geteuid() {
		return fmt.Errorf("remote: user %d has connected to the plugin, which runs as user %d", uid, os.Geteuid())
	}
	return nil
}

// begun is a connection of which the first bytes were read already.
type begun struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}
