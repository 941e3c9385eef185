//go:build unix

package forward

import (
	"errors"
	"io"
	"syscall"
	"time"
)

// Send lets the server behind a Unix socket answer a hook. The error is ErrNoServer if there is none; any other
// error means that the server could not answer in time, and that the hook has to fail closed.
func Send(socket string, in Input, deadline time.Duration) (Reply, error) {
	conn, err := dial(socket, deadline)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = syscall.Close(int(conn)) }()
	return Exchange(conn, in)
}

// A Descriptor is that of an open file or socket.
type Descriptor int

func dial(socket string, deadline time.Duration) (Descriptor, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	syscall.CloseOnExec(fd)
	limit := syscall.NsecToTimeval(int64(deadline))
	err = errors.Join(
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit),
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &limit))
	if err == nil {
		if failed := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); failed != nil {
			err = errors.Join(ErrNoServer, failed)
		} else {
			err = ofThisUser(fd)
		}
	}
	if err != nil {
		_ = syscall.Close(fd)
	}
	return Descriptor(fd), err
}

// Write writes all of it.
func (d Descriptor) Write(data []byte) (written int, err error) {
	for written < len(data) {
		n, err := syscall.Write(int(d), data[written:])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return written, err
		default:
			written += n
		}
	}
	return written, nil
}

// Read reads what there is.
func (d Descriptor) Read(data []byte) (int, error) {
	for {
		switch n, err := syscall.Read(int(d), data); {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}
