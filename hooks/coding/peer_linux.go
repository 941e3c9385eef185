package coding

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sameUser reports whether the other end of a connection is a process of this user, or of root.
func sameUser(conn net.Conn) bool {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred
	if raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }) != nil || err != nil {
		return false
	}
	return int(peer.Uid) == os.Getuid() || peer.Uid == 0
}
