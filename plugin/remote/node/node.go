// Package node has the library with which plugins are written for Node.js, as text: it is written once, here.
// "runner plugin new --lang node" writes all of it beside a new plugin. A plugin with a transport of its own, such as
// examples/plugins/toolpolicy, has a generated copy of the rest:
//
//	//go:generate go run github.com/plughook/plughook/plugin/remote/node/generate plughook
package node

import (
	"embed"
	"io/fs"

	"github.com/plughook/plughook/plugin/remote/wire"
)

//go:embed library/*.mjs
var files embed.FS

// transport are the files of the library that send messages: frames, and gRPC without dependencies.
var transport = []string{"frames.mjs", "protobuf.mjs", "transport.mjs"}

// Library returns the files of the library, by name.
func Library() map[string][]byte {
	library := map[string][]byte{}
	entries, err := files.ReadDir("library")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, entry := range entries {
		data, err := fs.ReadFile(files, "library/"+entry.Name())
		if err != nil {
			panic(err)
		}
		library[entry.Name()] = data
	}
	return library
}

// WithoutTransport returns the files of the library for a plugin that brings its own
// transport.mjs: those that do not send messages, and plugin.proto.
func WithoutTransport() map[string][]byte {
	library := Library()
	for _, name := range transport {
		delete(library, name)
	}
	library["plugin.proto"] = wire.Proto
	return library
}
