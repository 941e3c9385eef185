//go:build !linux

package coding

import "net"

// sameUser trusts the mode of the socket, which lets in its owner only.
func sameUser(net.Conn) bool { return true }
