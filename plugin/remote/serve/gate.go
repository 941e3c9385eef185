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

// gate stands before a plugin's gRPC server. It lets nobody in who is another user, and sends connections for frames
// elsewhere.
type gate struct {
	credentials.TransportCredentials
	frames func(net.Conn)
}

// Clone implements credentials.TransportCredentials.
func (g gate) Clone() credentials.TransportCredentials {
	return gate{g.TransportCredentials.Clone(), g.frames}
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
		_ = c.SetDeadline(time.Time{}) // that was for the handshake
		go g.frames(c)
		return nil, nil, credentials.ErrConnDispatched
	}
	return g.TransportCredentials.ServerHandshake(&begun{c, first})
}

// checkHost returns an error if who has connected is another user. In a user namespace, that of the host is the only
// other one that is mapped, to itself.
func checkHost(c net.Conn) error {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return errors.New("remote: the connection is no socket")
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
		return fmt.Errorf("remote: user %d has connected to the plugin, which is user %d's", uid, os.Geteuid())
	}
	return nil
}

// begun is a connection of which the first bytes were read.
type begun struct {
	net.Conn
	first []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}
