package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/yamlfile"
)

// pin returns the configuration of the plugin at an index with the digests of the lockfile. Without
// a lockfile, pinned says whether the configuration has them.
func (c *file) pin(i int, r remote.Config, l *lockfile) (_ remote.Config, pinned bool, err error) {
	path := pluginPath(i)
	mine := lockedOf(r)
	bad := func(path, format string, args ...any) (remote.Config, bool, error) {
		return r, false, c.source.Errorf(path, format, args...)
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
		return bad(path, "plugin %s is not in %s; if it is meant to run, pin it with: %s", r.Name, l.name,
			c.lockCommand(r.Name))
	}
	if r.SHA256 != "" && !strings.EqualFold(r.SHA256, theirs.SHA256) {
		return bad(path+".sha256", "plugin %s: sha256 is %s here and %s in %s; take this one out, or change it and run: %s", r.Name, r.SHA256, theirs.SHA256, l.name, c.lockCommand(r.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(mine.Files)) {
		given := mine.Files[name]
		kept := theirs.Files[name]
		switch {
		case kept == "" && given == "":
			return bad(path+".files", "the file %s of plugin %s is not in %s; if it is part of the plugin, pin it with: %s", name, r.Name, l.name, c.lockCommand(r.Name))
		case kept != "" && given != "" && !strings.EqualFold(given, kept):
			return bad(path+".files", "the digest of %s of plugin %s is %s here and %s in %s; take this one out, or change it and run: %s", name, r.Name, given, kept, l.name, c.lockCommand(r.Name))
		case given == "":
			mine.Files[name] = kept
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs.Files)) {
		if _, ok := mine.Files[name]; !ok {
			return bad(path, "%s has the file %s for plugin %s, and the configuration has not; if that is right: %s", l.name, name, r.Name, c.lockCommand(r.Name))
		}
	}
	r.SHA256 = theirs.SHA256
	r.Files = mine.Files
	return r, true, nil
}

func lockedOf(r remote.Config) locked {
	return locked{SHA256: r.SHA256, Files: maps.Clone(r.Files)}
}

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

// pinned returns a lockfile with the named plugins as they are on the disk, all of them if none is
// named, and the others as they were in the old one.
func (c *file) pinned(names []string, old *lockfile) (*lockfile, error) {
	now := &lockfile{Version: lockVersion, Plugins: map[string]locked{}, name: old.name}
	if len(names) > 0 {
		maps.Copy(now.Plugins, old.Plugins)
	}
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
		now.Plugins[name] = lockedOf(disk)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			errs = append(errs, fmt.Errorf("no plugin with a command is named %q%s", name,
				yamlfile.Guess(name, all)))
		}
	}
	return now, errors.Join(errs...)
}

// contradictions says which digests of the configuration are not those on the disk.
func contradictions(r, disk remote.Config) []string {
	now := lockedOf(disk)
	if r.SHA256 == "" {
		now.SHA256 = ""
	}
	maps.DeleteFunc(now.Files, func(name, _ string) bool { return r.Files[name] == "" })
	return differences(lockedOf(r), now)
}

// looseFiles returns the arguments of a plugin's command that are files and not among its files,
// such as a script whose interpreter alone is pinned.
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

// A Lock is the lockfile of a configuration as it should be: the digests of the plugins that are
// processes, computed from the disk. The lockfile is in the directory of the configuration, and
// should be kept in the same repository.
type Lock struct {
	Name    string // of the lockfile
	Exists  bool   // it is there by now
	Plugins []LockedPlugin
	// Warnings name files that are probably part of a plugin, and are not pinned.
	Warnings []string

	now *lockfile
}

// A LockedPlugin is what becomes of a plugin in a lockfile.
type LockedPlugin struct {
	Name    string
	State   string   // same, new, changed or gone
	SHA256  string   // of the program; "" of one that is gone
	Files   int      // how many others are pinned
	Changes []string // what has changed
}

// Pin computes the lockfile with the named plugins as they are on the disk, all plugins that have a
// command if none is named, and compares it with the one that is there. Nothing is started, and
// nothing is written: Write does that.
func (c *Config) Pin(ctx context.Context, names ...string) (*Lock, error) {
	old, err := c.file.lock(ctx)
	if err != nil {
		return nil, err
	}
	now, err := c.file.pinned(names, old)
	if err != nil {
		return nil, err
	}
	l := &Lock{Name: old.name, Exists: old.there, now: now}
	for i := range c.file.Plugins {
		pc := &c.file.Plugins[i]
		for _, name := range c.file.looseFiles(pc) {
			l.Warnings = append(l.Warnings, fmt.Sprintf("%s is an argument of plugin %s and a file, and not pinned; if it is part of the plugin, name it in files", name, pc.Name))
		}
	}
	all := maps.Clone(old.Plugins)
	maps.Copy(all, now.Plugins)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := old.Plugins[name]
		is, has := now.Plugins[name]
		one := LockedPlugin{Name: name, State: "same", SHA256: is.SHA256, Files: len(is.Files)}
		switch {
		case !has:
			one.State = "gone"
		case !had:
			one.State = "new"
		default:
			one.Changes = differences(was, is)
			if len(one.Changes) > 0 {
				one.State = "changed"
			}
		}
		l.Plugins = append(l.Plugins, one)
	}
	return l, nil
}

// Changed reports whether the lockfile on the disk differs, or does not exist.
func (l *Lock) Changed() bool {
	return !l.Exists || slices.ContainsFunc(l.Plugins,
		func(p LockedPlugin) bool { return p.State != "same" })
}

// Empty reports whether no plugin has a command, so that there is nothing to pin.
func (l *Lock) Empty() bool { return len(l.now.Plugins) == 0 }

// Write writes the lockfile: all of it or nothing.
func (l *Lock) Write() error { return l.now.write() }

// LockCommand returns the command line that pins a plugin, or all if the name is empty.
func (c *Config) LockCommand(name string) string { return c.file.lockCommand(name) }
