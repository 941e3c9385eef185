package forward

import (
	"errors"
	"syscall"
)

// ofThisUser returns ErrNoServer if the other end of a connection is a process of another user than this one's, or root:
// somebody else would decide, and anybody may put a socket into the directory for temporary files.
func ofThisUser(fd int) error {
	peer, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return err
	}
	if int(peer.Uid) != syscall.Getuid() && peer.Uid != 0 {
		return errors.Join(ErrNoServer, errors.New("the one that listens is of another user"))
	}
	return nil
}
