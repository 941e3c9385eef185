package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/plughook/plughook/config/internal/lockfile"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/yamlfile"
)

// Pin computes the lockfile with the named plugins as they are on the disk, all plugins that have a
// command if none is named, and compares it with the one that is there. The lockfile is in the directory of the
// configuration, and should be kept in the same repository. Nothing is started, and nothing is written: Write does
// that.
func (c *Config) Pin(ctx context.Context, names ...string) (*lockfile.Lock, error) {
	old, err := lockfile.Read(ctx, c.Name())
	if err != nil {
		return nil, err
	}
	now, err := c.file.digests(names)
	if err != nil {
		return nil, err
	}
	lock := old.Compare(now, len(names) > 0)
	for i := range c.file.Plugins {
		p := &c.file.Plugins[i]
		for _, name := range c.file.looseFiles(p) {
			lock.Warnings = append(lock.Warnings, fmt.Sprintf("%s is an argument of plugin %s and a file, "+
				"and not pinned; if it is part of the plugin, name it in files", name, p.Name))
		}
	}
	return lock, nil
}

// LockCommand returns the command line that pins a plugin, or all if the name is empty.
func (c *Config) LockCommand(name string) string { return c.file.lockCommand(name) }

func (c *file) lockCommand(name string) string { return lockfile.Command(c.source.Name(), name) }

// pin returns the configuration of the plugin at an index with the digests of the lockfile. Without
// a lockfile, pinned says whether the configuration has them.
func (c *file) pin(i int, r remote.Config, lock *lockfile.File) (_ remote.Config, pinned bool, err error) {
	pins, pinned, err := lock.Apply(r.Name, pinsOf(r))
	if m, ok := errors.AsType[*lockfile.Mismatch](err); ok {
		path := pluginPath(i)
		if m.Key != "" {
			path += "." + m.Key
		}
		return r, false, c.source.Errorf(path, "%w", m)
	}
	r.SHA256 = pins.SHA256
	r.Files = pins.Files
	return r, pinned, nil
}

func pinsOf(r remote.Config) lockfile.Pins {
	return lockfile.Pins{SHA256: r.SHA256, Files: maps.Clone(r.Files)}
}

// digests returns the digests of the named plugins that have a command, of all if none is named, as they are on the
// disk. A digest that the configuration has must be that one.
func (c *file) digests(names []string) (map[string]lockfile.Pins, error) {
	now := map[string]lockfile.Pins{}
	var all []string
	var errs []error
	for i := range c.Plugins {
		if !c.Plugins[i].process() || c.Plugins[i].attached() {
			continue
		}
		name := c.Plugins[i].Name
		all = append(all, name)
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		r, err := c.process(i, nil)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		disk, err := remote.Pin(r)
		if err != nil {
			errs = append(errs, c.placed(i, err))
			continue
		}
		for _, d := range contradictions(r, disk) {
			errs = append(errs, c.source.Errorf(pluginPath(i),
				"plugin %s: %s in the configuration; take the digest out there, or change it", name, d))
		}
		now[name] = pinsOf(disk)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			errs = append(errs, fmt.Errorf("no plugin with a command is named %q%s", name,
				yamlfile.Guess(name, all)))
		}
	}
	return now, errors.Join(errs...)
}

// contradictions lists the digests that runner.yaml gives and that differ from the files on the disk.
func contradictions(r, disk remote.Config) []string {
	now := pinsOf(disk)
	if r.SHA256 == "" {
		now.SHA256 = ""
	}
	maps.DeleteFunc(now.Files, func(name, _ string) bool { return r.Files[name] == "" })
	return lockfile.Differences(pinsOf(r), now)
}

// looseFiles returns the arguments of a plugin's command that are names of files which are not pinned, because the key
// files does not list them: such as a script, where only its interpreter is pinned.
func (c *file) looseFiles(p *pluginConfig) []string {
	var list []string
	for _, arg := range p.Command[min(1, len(p.Command)):] {
		path := c.path(arg)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if !slices.ContainsFunc(p.Files, func(f pluginFile) bool { return c.path(f.path) == path }) {
			list = append(list, arg)
		}
	}
	return list
}
