//go:build !unix

package transport

import "syscall"

// tryWrite writes nothing: this system has no such plugins.
func tryWrite(syscall.RawConn, []byte) int { return 0 }
