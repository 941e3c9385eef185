// Package wire is the protocol between a host and a plugin in a process of its own: plugin.proto,
// and what protoc generates of it.
package wire

import _ "embed"

// Proto is the text of plugin.proto.
//
//go:embed plugin.proto
var Proto []byte
