package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/plugin/remote"
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

// lock reads the configuration's lockfile, which need not be there.
func (c *config) lock(ctx context.Context) (*lockfile, error) {
	l := &lockfile{Version: lockVersion, Plugins: map[string]locked{}}
	if c.source.name == "" {
		return l, nil
	}
	l.name = strings.TrimSuffix(c.source.name, filepath.Ext(c.source.name)) + ".lock.json"
	data, err := readFile(ctx, l.name, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, l, json.RejectUnknownMembers(true))
	}
	if err == nil && l.Version != lockVersion {
		err = fmt.Errorf("it is of version %d, and this runner knows version %d", l.Version, lockVersion)
	}
	if l.Plugins == nil { // it says null
		l.Plugins = map[string]locked{}
	}
	for name, p := range l.Plugins {
		for file, sum := range p.Files {
			if !sha256Digits.MatchString(sum) {
				err = fmt.Errorf("the digest of %s of plugin %s is none: it is 64 hexadecimal digits", file, name)
			}
		}
		if !sha256Digits.MatchString(p.SHA256) {
			err = fmt.Errorf("the sha256 of plugin %s is no digest: it is 64 hexadecimal digits", name)
		}
	}
	if err != nil {
		return nil, exitUsage.errorf("lockfile %s: %w; %s writes it anew, once it is deleted", l.name, err, c.lockCommand(""))
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
	f, err := os.CreateTemp(filepath.Dir(l.name), "."+filepath.Base(l.name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), l.name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what went wrong before counts
	}
	return err
}

// lockCommand returns the command that pins a plugin, or all if the name is empty.
func (c *config) lockCommand(name string) string {
	command := "runner plugin lock"
	if c.source.name != defaultConfig {
		command += " --config " + c.source.name
	}
	return strings.TrimSpace(command + " " + name)
}

// pin returns the configuration of the plugin at an index with the digests of the lockfile. Without a
// lockfile, pinned says whether the configuration has them.
func (c *config) pin(i int, r remote.Config, l *lockfile) (_ remote.Config, pinned bool, err error) {
	path, mine := pluginPath(i), lockedOf(r)
	bad := func(path, format string, args ...any) (remote.Config, bool, error) {
		return r, false, exitUsage.as(c.source.errorf(path, format, args...))
	}
	if !l.there {
		for name, sum := range mine.Files {
			if sum == "" && r.SHA256 != "" {
				return bad(path+".files", "plugin %s is pinned, and the file %s is not: give it a digest (%s: DIGEST), or pin both with: %s", r.Name, name, name, c.lockCommand(r.Name))
			}
			if sum == "" {
				delete(mine.Files, name)
			}
		}
		r.Files = mine.Files
		return r, r.SHA256 != "", nil
	}
	theirs, ok := l.Plugins[r.Name]
	if !ok {
		return bad(path, "plugin %s is not in %s; if it is meant to run: %s", r.Name, l.name, c.lockCommand(r.Name))
	}
	if r.SHA256 != "" && !strings.EqualFold(r.SHA256, theirs.SHA256) {
		return bad(path+".sha256", "plugin %s: sha256 is %s here and %s in %s; take this one out, or change it and say: %s", r.Name, r.SHA256, theirs.SHA256, l.name, c.lockCommand(r.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(mine.Files)) {
		given, kept := mine.Files[name], theirs.Files[name]
		switch {
		case kept == "" && given == "":
			return bad(path+".files", "the file %s of plugin %s is not in %s; if it is meant to be part of the plugin: %s", name, r.Name, l.name, c.lockCommand(r.Name))
		case kept != "" && given != "" && !strings.EqualFold(given, kept):
			return bad(path+".files", "the digest of %s of plugin %s is %s here and %s in %s; take this one out, or change it and say: %s", name, r.Name, given, kept, l.name, c.lockCommand(r.Name))
		case given == "":
			mine.Files[name] = kept
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs.Files)) {
		if _, ok := mine.Files[name]; !ok {
			return bad(path, "%s has the file %s for plugin %s, and the configuration has not; if that is meant: %s", l.name, name, r.Name, c.lockCommand(r.Name))
		}
	}
	r.SHA256, r.Files = theirs.SHA256, mine.Files
	return r, true, nil
}

func lockedOf(r remote.Config) locked { return locked{r.SHA256, maps.Clone(r.Files)} }

// differences says how what there is now differs from what was, "" being none.
func differences(was, now locked) []string {
	var list []string
	differ := func(what, was, now string) {
		switch {
		case strings.EqualFold(was, now):
		case was == "":
			list = append(list, fmt.Sprintf("%s is %s and was not pinned", what, now))
		case now == "":
			list = append(list, fmt.Sprintf("%s is pinned as %s and is no part of the plugin any more", what, was))
		default:
			list = append(list, fmt.Sprintf("the SHA-256 of %s is %s, and %s is pinned", what, now, was))
		}
	}
	differ("the program", was.SHA256, now.SHA256)
	files := maps.Clone(was.Files)
	if files == nil {
		files = map[string]string{}
	}
	maps.Copy(files, now.Files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		differ(name, was.Files[name], now.Files[name])
	}
	return list
}
