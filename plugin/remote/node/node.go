// Package node has the library with which plugins are written for Node.js, as text: it is written once, here.
// "runner plugin new --lang node" writes all of it beside a new plugin. A plugin that sends messages by itself, such
// as examples/plugins/toolpolicy, has the rest written by a script of its package.json:
//
//	go run github.com/plughook/plughook/plugin/remote/node/generate plughook ../transport.mjs
//
// A new message or field of the protocol: library/protobuf.mjs has the messages, sessions.mjs what is kept between
// calls, and conversation.mjs the numbers of the hooks.
package node

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plughook/plughook/plugin/remote/wire"
)

//go:embed library/*.mjs
var files embed.FS

// sending are the files of the library that send messages: frames, and gRPC without dependencies.
var sending = []string{"frames.mjs", "protobuf.mjs", "transport.mjs"}

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

// WriteWithTransport writes the library into a directory, for a plugin that sends messages by itself: the files
// that send none, plugin.proto, and a transport.mjs that exports what the module transport exports, a path from
// that directory. A file that differs is replaced as a whole, so plugins may be started from there meanwhile.
func WriteWithTransport(dir, transport string) error {
	library := Library()
	for _, name := range sending {
		delete(library, name)
	}
	library["plugin.proto"] = wire.Proto
	library["transport.mjs"] = fmt.Appendf(nil, "export * from '%s'\n", transport)

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range library {
		path := filepath.Join(dir, name)
		if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, data) {
			continue
		}
		f, err := os.CreateTemp(dir, ".new-*")
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		err = errors.Join(err, f.Chmod(0o644), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			return errors.Join(err, os.Remove(f.Name()))
		}
	}
	return nil
}
