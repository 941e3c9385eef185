package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/internal/input"
)

// lockfile has the digests of a configuration's plugins that are processes. It stands beside the
// configuration, and belongs where that is kept.
type lockfile struct {
	Version int               `json:"version"`
	Plugins map[string]locked `json:"plugins"`

	name  string
	there bool
}

// locked is what is pinned of a plugin.
type locked struct {
	SHA256 string            `json:"sha256"`
	Files  map[string]string `json:"files,omitempty"`
}

const (
	lockVersion = 1
	maxLock     = 16 << 20
)

// lock reads the configuration's lockfile. It need not be there.
func (c *file) lock(ctx context.Context) (*lockfile, error) {
	l := &lockfile{Version: lockVersion, Plugins: map[string]locked{}}
	if c.source.Name() == "" {
		return l, nil
	}
	l.name = strings.TrimSuffix(c.source.Name(), filepath.Ext(c.source.Name())) + ".lock.json"
	data, err := input.ReadFile(ctx, l.name, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, l, json.RejectUnknownMembers(true))
	}
	if err == nil && l.Version == 0 {
		err = errors.New("it is not a lockfile; write it anew with: " + c.lockCommand(""))
	} else if err == nil && l.Version != lockVersion {
		err = fmt.Errorf("it has version %d; this runner reads version %d", l.Version, lockVersion)
	}
	if l.Plugins == nil { // it says null
		l.Plugins = map[string]locked{}
	}
	for name, p := range l.Plugins {
		for file, sum := range p.Files {
			if !sha256Digits.MatchString(sum) {
				err = fmt.Errorf("the digest of %s of plugin %s is not one: a digest has 64 hexadecimal digits",
					file, name)
			}
		}
		if !sha256Digits.MatchString(p.SHA256) {
			err = fmt.Errorf("the sha256 of plugin %s is not a digest, which has 64 hexadecimal digits", name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lockfile %s: %w; to write it anew, delete it and run: %s", l.name, err,
			c.lockCommand(""))
	}
	l.there = true
	return l, nil
}

// write writes the lockfile: all of it or nothing.
func (l *lockfile) write() error {
	data, err := json.Marshal(l, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return writeLock(l.name, append(data, '\n'))
}

// writeLock writes a lockfile: all of it or nothing.
func writeLock(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what went wrong before counts
	}
	return err
}

// lockCommand returns the command that pins a plugin, or all if the name is empty.
func (c *file) lockCommand(name string) string {
	command := "runner plugin lock"
	if c.source.Name() != DefaultName {
		command += " --config " + c.source.Name()
	}
	return strings.TrimSpace(command + " " + name)
}
