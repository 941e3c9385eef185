package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugin/internal/transport"
)

const (
	maxLine  = 64 << 10 // bytes of a line of output that are looked at
	maxNoise = 1 << 20  // bytes of stdout before the handshake
)

// eachLine calls f with each line of r, without its line end, until r ends. A line longer than
// maxLine is cut. f must not keep the slice.
func eachLine(r io.Reader, f func(line []byte)) {
	b := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := b.ReadSlice('\n')
		if len(line) > 0 {
			f(bytes.TrimRight(line, "\r\n"))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// handshakeLine is how the line begins in which a plugin says where it listens: the handshake.
var handshakeLine = lazyregexp.New(`^\d+\|\d+\|`)

// checkHandshake returns an error if a plugin with this handshake cannot be talked to. The line
// is go-plugin's version, the version of our protocol, a network, an address, and "grpc".
func checkHandshake(line string) error {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 {
		return fmt.Errorf("%w: its handshake on stdout is %.200q; it has to be 1|%d|unix|PATH|grpc", ErrProtocol, line, transport.ProtocolVersion)
	}
	core := parts[0]
	version := parts[1]
	network := parts[2]
	protocol := parts[4]
	switch {
	case core != "1":
		return fmt.Errorf("%w: its go-plugin protocol is version %.20s, this host's is version 1; rebuild the plugin", ErrProtocol, core)
	case version != fmt.Sprint(transport.ProtocolVersion):
		return fmt.Errorf("%w: version %.20s, and this host speaks version %d; take a version of the plugin that fits", ErrProtocol, version, transport.ProtocolVersion)
	case network != "unix":
		return fmt.Errorf("%w: it listens on %.20q; this host takes unix sockets only", ErrProtocol, network)
	case protocol != "grpc":
		return fmt.Errorf("%w: %.20q; this host speaks grpc", ErrProtocol, protocol)
	}
	return nil
}

// findHandshake reads a plugin's stdout until it ends. It calls found once, with the handshake or
// with an error if there is none, and noise with every other line.
func findHandshake(stdout io.Reader, found func(line string, err error), noise func(line []byte)) {
	bytes := 0
	tell := func(line string, err error) {
		if found != nil {
			found(line, err)
			found = nil
		}
	}
	eachLine(stdout, func(line []byte) {
		if found != nil && handshakeLine.Match(line) {
			s := string(line)
			tell(s, checkHandshake(s))
			return
		}
		if bytes += len(line) + 1; bytes > maxNoise {
			tell("", fmt.Errorf("it printed %d bytes on stdout and no handshake. Is it a Plughook plugin?", bytes))
		}
		noise(line)
	})
	tell("", errNoHandshake)
}

var errNoHandshake = errors.New("it exited before its handshake. Is it a Plughook plugin?")
