// Package wire is the protocol between a host and a plugin in a process of its own: plugin.proto,
// and what protoc generates of it.
package wire

import _ "embed"

// The generated files have the versions of these programs in their first lines.
//
//go:generate protoc --proto_path=.. --go_out=.. --go_opt=paths=source_relative --go-grpc_out=.. --go-grpc_opt=paths=source_relative wire/plugin.proto

// Proto is the text of plugin.proto.
//
//go:embed plugin.proto
var Proto []byte
