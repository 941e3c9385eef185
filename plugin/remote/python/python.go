// Package python has the library with which plugins are written in Python, as text: it is written once, here.
// "runner plugin new --lang python" writes it beside a new plugin, as the package plughook.
//
// A new message or field of the protocol is there by itself, as Python has the messages of the descriptor:
// library/sessions.py has what is kept between calls, library/values.py what hooks get and answer.
package python

import (
	"embed"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"github.com/plughook/plughook/plugin/remote/wire"
)

//go:embed library/*.py
var files embed.FS

// Library returns the files of the library, by name. plugin.binpb is the descriptor of plugin.proto.
func Library() map[string][]byte {
	described := protodesc.ToFileDescriptorProto(wire.File_wire_plugin_proto)
	binary, err := proto.MarshalOptions{Deterministic: true}.Marshal(described)
	if err != nil {
		panic(err) // it was generated
	}
	library := map[string][]byte{"plugin.binpb": binary}
	entries, err := files.ReadDir("library")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, entry := range entries {
		if library[entry.Name()], err = files.ReadFile("library/" + entry.Name()); err != nil {
			panic(err)
		}
	}
	return library
}

// ErrNone says that there is no Python with what a plugin needs.
var ErrNone = errors.New("no Python 3.11 or later with grpcio was found")

// needs is a program that fails where a plugin would not run.
const needs = "import sys, grpc, google.protobuf; sys.exit(sys.version_info < (3, 11))"

// Interpreter returns the Python that runs a plugin in a directory: that of its virtual environment, .venv, if
// it has one; else the first of PATH or of the system that has grpcio.
func Interpreter(dir string) (string, error) {
	own := filepath.Join(dir, ".venv", "bin", "python")
	if _, err := exec.LookPath(own); err == nil {
		if err := exec.Command(own, "-c", needs).Run(); err != nil {
			return "", fmt.Errorf("%s is older than 3.11 or has no grpcio; run %[1]s -m pip install grpcio protobuf", own)
		}
		return own, nil
	}
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", needs).Run() == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w; on Debian run apt-get install python3-grpcio python3-protobuf, elsewhere "+
		"python3 -m venv .venv && .venv/bin/pip install grpcio protobuf in the plugin's directory", ErrNone)
}
