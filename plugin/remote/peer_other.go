//go:build !linux

package remote

// peer returns nothing: this system does not say who is at the other end of a socket.
func peer(int) (uid, pid int, known bool, err error) { return 0, 0, false, nil }
