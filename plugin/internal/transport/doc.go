// Package transport sends messages between a host and a plugin in a process of its own: as frames
// (frames.go), or over gRPC (codec.go). It has what both sides must agree on before the first
// message (handshake.go), and says who is at the other end of a socket (peer_linux.go).
//
// Another way to send messages: a file beside frames.go and codec.go, chosen after the handshake (handshake.go).
package transport
