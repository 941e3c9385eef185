//go:build unix

package transport

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// tryWrite writes what a socket takes without waiting, and returns how many bytes that were.
func tryWrite(raw syscall.RawConn, data []byte) (n int) {
	_ = raw.Write(func(fd uintptr) bool {
		written, err := unix.Write(int(fd), data)
		if err == nil {
			n = written
		}
		return true
	})
	return n
}
