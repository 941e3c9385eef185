package transport

import "golang.org/x/sys/unix"

// Peer returns the user and the process at the other end of a unix socket.
func Peer(fd int) (uid, pid int, known bool, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, true, err
	}
	return int(cred.Uid), int(cred.Pid), true, nil
}
