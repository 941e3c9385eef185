// Package lockfile has the file in which the digests of a configuration's plugins are kept: read and written
// (file.go), applied to a plugin that is started (apply.go), and compared with what is on the disk (compare.go).
//
// A new thing that is pinned of a plugin: a field of Pins, with its comparison in Differences and its check in Apply.
// The command that writes the file is "runner plugin lock".
package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/internal/wholefile"
)

// A File has the digests of a configuration's plugins that are processes. It stands beside the configuration, and
// belongs where that is kept.
type File struct {
	Version int             `json:"version"`
	Plugins map[string]Pins `json:"plugins"`

	name   string
	config string // the configuration's file
	exists bool
}

// Pins are the digests of a plugin: of its program, and of other files by their paths.
type Pins struct {
	SHA256 string            `json:"sha256"`
	Files  map[string]string `json:"files,omitempty"`
}

const (
	version  = 1
	maxBytes = 16 << 20

	// DefaultConfig is the configuration that the command reads if it is given none.
	DefaultConfig = "runner.yaml"
)

var digest = lazyregexp.New(`^[0-9a-fA-F]{64}$`)

// Read reads the lockfile of a configuration's file. It need not be there. A configuration without a file has none.
func Read(ctx context.Context, config string) (*File, error) {
	f := &File{Version: version, Plugins: map[string]Pins{}, config: config}
	if config == "" {
		return f, nil
	}
	f.name = strings.TrimSuffix(config, filepath.Ext(config)) + ".lock.json"
	data, err := input.ReadFile(ctx, f.name, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = f.parse(data)
	}
	if err != nil {
		return nil, fmt.Errorf("lockfile %s: %w; to write it anew, delete it and run: %s", f.name, err, Command(config, ""))
	}
	f.exists = true
	return f, nil
}

// parse reads the file's text, and returns what is wrong with it.
func (f *File) parse(data []byte) error {
	f.Version = 0
	if err := json.Unmarshal(data, f, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if f.Version == 0 {
		return errors.New("it is not a lockfile")
	}
	if f.Version != version {
		return fmt.Errorf("it has version %d; this runner reads version %d", f.Version, version)
	}
	if f.Plugins == nil { // the file says null
		f.Plugins = map[string]Pins{}
	}
	for name, pins := range f.Plugins {
		if !digest.MatchString(pins.SHA256) {
			return fmt.Errorf("the sha256 of plugin %s is not a digest, which has 64 hexadecimal digits", name)
		}
		for file, sum := range pins.Files {
			if !digest.MatchString(sum) {
				return fmt.Errorf("the digest of %s of plugin %s is not one: a digest has 64 hexadecimal digits", file, name)
			}
		}
	}
	return nil
}

// write writes the lockfile: all of it or nothing.
func (f *File) write() error {
	data, err := json.Marshal(f, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return wholefile.Write(f.name, append(data, '\n'))
}

// Command returns the command that pins a plugin of a configuration, or all plugins if the name is empty.
func Command(config, plugin string) string {
	command := "runner plugin lock"
	if config != DefaultConfig {
		command += " --config " + config
	}
	return strings.TrimSpace(command + " " + plugin)
}
